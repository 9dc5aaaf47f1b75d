"""Files and folders that are moved into place when they are complete."""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import time

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextlib.contextmanager
def replacing_file(path):
    """`replacing_files` for one file."""
    with replacing_files(path) as (temporary,):
        yield temporary


@contextlib.contextmanager
def replacing_files(*paths):
    """Yields the paths of empty temporary files, which are renamed to `paths` at the end.

    All are on the disk before the first one is renamed. A file has the permissions of the one that
    it replaces. After an error the files that were there before are untouched.
    """
    targets = {}  # by temporary path: the path of the file that it becomes
    try:
        for path in map(os.fspath, paths):
            folder, name = os.path.split(os.path.abspath(path))
            if not os.path.isdir(folder):
                raise FileNotFoundError(f"{folder} must be an existing folder. Received: {path}")
            if os.path.isdir(path):
                raise IsADirectoryError(f"A file must be named, not a folder. Received: {path}")
            remove_stale(folder, name)
            temporary = _temporary_path(folder, name)
            targets[temporary] = path
            # The replacement of a private file is private from its first byte on.
            mode = _mode_of(path)
            mode = 0o666 if mode is None else mode | stat.S_IRUSR | stat.S_IWUSR
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield list(targets)
        for temporary, path in targets.items():
            with open(temporary, "r+b") as file:
                os.fsync(file.fileno())  # The content must reach the disk before the name.
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(path, temporary)
        for temporary, path in targets.items():
            os.replace(temporary, path)
    except BaseException as error:
        for temporary in targets:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)
        if isinstance(error, OSError) and (error.filename in targets or has_no_room(error)):
            # The user knows the path. An error of a full disk may name no file.
            error.filename = targets.get(error.filename, error.filename or os.fspath(paths[0]))
        raise


def _mode_of(path):
    """The permissions of a file or folder, or `None` if there is none."""
    return stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else None


@contextlib.contextmanager
def replacing_folder(path, overwrite):
    """The same for a folder: yields the path of a temporary one, which does not exist yet.

    The parent of `path` is made. An existing folder is an error without `overwrite`.
    """
    path = os.path.abspath(path)
    parent, name = os.path.split(path)
    with making_folder(parent):
        remove_stale(parent, name)
        holder = _temporary_path(parent, name)
        temporary, replaced = os.path.join(holder, name), os.path.join(holder, name + _REPLACED)
        try:
            os.mkdir(holder, 0o700)
            yield temporary
            mode = _mode_of(path) if os.path.isdir(path) else None
            if overwrite and os.path.lexists(path):
                os.rename(path, replaced)
            os.rename(temporary, path)
            if mode is not None:
                os.chmod(path, mode)
        except OSError as error:
            if has_no_room(error):
                error.filename = path
            raise
        finally:
            # The former folder is put back first. If that is interrupted, nothing is removed.
            if os.path.lexists(replaced) and not os.path.lexists(path):
                os.rename(replaced, path)
            shutil.rmtree(holder, ignore_errors=True)


def has_no_room(error):
    """Whether an error says that a disk or a file is full. Python leaves the file's name out."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextlib.contextmanager
def tensorflow_writing(what):
    """A context in which an error of TensorFlow is an `OSError`: it could not write `what`."""
    import tensorflow as tf  # which Keras's other backends do without

    try:
        yield
    except tf.errors.OpError as error:
        message = error.message.partition(" [Op:")[0]  # without operations and temporary names
        reason = (message.partition("; ")[2] or message).partition(" Failed to ")[0]
        raise OSError(f"{what} could not be written: {reason}") from None


@contextlib.contextmanager
def making_folder(path):
    """Makes a folder and its parents. An error removes those that are empty and not locked."""
    made, folder = [], os.path.abspath(path)
    while not os.path.lexists(folder):
        made.append(folder)
        folder = os.path.dirname(folder)
    try:
        os.makedirs(path, exist_ok=True)
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # The first one that has to stay ends the loop.
            for folder in made:
                with locked_folder(folder):
                    os.rmdir(folder)
        raise


_reentrant = set()  # the folders, by their inodes, which this process may lock once more


@contextlib.contextmanager
def locked_folder(path, reentrant=False):
    """Locks an existing folder against other processes of this machine that lock it.

    The lock goes with the process, however it ends. With `reentrant`, what runs inside may lock the
    folder again. On Windows, and on a file system without locks, nothing is locked.
    """
    if fcntl is None:
        yield
        return
    folder = os.open(path, os.O_RDONLY)
    inode = os.fstat(folder)[1:3]
    try:
        if inode not in _reentrant:
            _lock(folder, path)
            if reentrant:
                _reentrant.add(inode)
        yield
    finally:
        if reentrant:
            _reentrant.discard(inode)
        os.close(folder)  # This releases the lock.


def _lock(folder, path):
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BlockingIOError(
            f"{path} must not be written by two processes at once. Another process is writing "
            "there now; wait until it ends, or stop it"
        ) from None
    except OSError:
        pass  # the file system has no locks


# A temporary name is .part.HOST.PID.RANDOM.NAME: only NAME may hold dots. It ends as NAME does,
# since Keras and others ask for a suffix.
PART = ".part."
_ABANDONED_AFTER = 24 * 3600  # seconds without a write: longer than any other process computes
_REPLACED = ".replaced"  # Within a temporary folder, NAME.replaced is the former NAME.


def _temporary_path(folder, name):
    random = secrets.token_hex(4)
    return os.path.join(folder, f"{PART}{host_name()}.{os.getpid()}.{random}.{name}")


def host_name():
    """The host, and the namespace of its process ids: containers may share a host's name."""
    host = re.sub("[^A-Za-z0-9-]", "-", socket.gethostname())[:20]  # File names have a limit.
    with contextlib.suppress(OSError):
        host += f"-{os.stat('/proc/self/ns/pid').st_ino}"
    return host


def remove_stale(folder, name):
    """Removes temporary files and folders for one name, of dead processes, or a day old."""
    path = os.path.join(folder, name)
    temporary = rf"\.part\.(?P<host>[A-Za-z0-9-]+)\.(?P<pid>\d+)\.\w+\.{re.escape(name)}"
    for match in filter(None, (re.fullmatch(temporary, entry) for entry in os.listdir(folder))):
        stale = os.path.join(folder, match[0])
        # Another process removes it, it is someone else's, or its name has no process id.
        with contextlib.suppress(OSError, OverflowError):
            if match["host"] == host_name() and os.name != "nt":  # whose `os.kill` asks nothing
                is_stale = not _is_alive(int(match["pid"]))
            else:
                is_stale = time.time() - os.path.getmtime(stale) > _ABANDONED_AFTER
            if is_stale and os.path.isdir(stale):
                replaced = os.path.join(stale, name + _REPLACED)
                if os.path.lexists(replaced) and not os.path.lexists(path):
                    os.rename(replaced, path)  # The process was killed between two renames.
                shutil.rmtree(stale)
            elif is_stale:
                os.remove(stale)


def _is_alive(process_id):
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def sha256_of(path):
    """The SHA-256 of a file, in hexadecimal digits."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()
