"""Files and folders that are moved into place when they are complete."""

import contextlib
import errno
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
    """A temporary file beside `path`, which is renamed to `path` at the end.

    See `replacing_files`, of which this is the form for one file.

    Yields:
        The path of the temporary file, which exists and is empty.
    """
    with replacing_files(path) as (temporary,):
        yield temporary


@contextlib.contextmanager
def replacing_files(*paths):
    """Temporary files, each beside one of `paths`, which are renamed to these at the end.

    All are on the disk before the first of them is renamed, so only a moment lies between the first
    rename and the last one. A file has the permissions of the file that it replaces. After an error
    the temporary files are removed, and the files that were there before are untouched. What a
    killed process left beside the same paths is removed first.

    Args:
        *paths: the files to write, in existing folders.

    Yields:
        list of the paths of the temporary files, which exist and are empty.

    Raises:
        FileNotFoundError: there is no such folder.
        IsADirectoryError: a path is a folder.
    """
    targets = {}  # by temporary file: the file that it becomes
    try:
        for path in map(os.fspath, paths):
            folder, name = os.path.split(os.path.abspath(path))
            if not os.path.isdir(folder):
                raise FileNotFoundError(f"{folder} must be an existing folder. Received: {path}")
            if os.path.isdir(path):
                raise IsADirectoryError(f"A file must be named, not a folder. Received: {path}")
            _remove_stale(folder, name)
            temporary = _temporary_path(folder, name)
            targets[temporary] = path
            # What replaces a private file is private from its first byte on.
            mode = _mode_of(path)
            mode = 0o666 if mode is None else mode | stat.S_IRUSR | stat.S_IWUSR
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield list(targets)
        for temporary, path in targets.items():
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())  # a name must not reach the disk before what it names
            _set_mode(temporary, _mode_of(path))
        for temporary, path in targets.items():
            os.replace(temporary, path)
    except BaseException as error:
        for temporary in targets:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)
        if isinstance(error, OSError) and (error.filename in targets or has_no_room(error)):
            # What the user knows. An error of a full disk may name no file.
            error.filename = targets.get(error.filename, error.filename or os.fspath(paths[0]))
        raise


def _mode_of(path):
    """The permissions of a file or folder, or `None` if there is none."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(path).st_mode)
    return None


def _set_mode(path, mode):
    if mode is not None:
        os.chmod(path, mode)


@contextlib.contextmanager
def replacing_folder(path, overwrite):
    """The same for a folder: a temporary path beside `path`, where a folder is to be made.

    Args:
        path: the folder to write. Its parent is made where it does not exist.
        overwrite: bool. Replace an existing folder; else it is an error.

    Yields:
        The path of the temporary folder, which does not exist yet.
    """
    path = os.path.abspath(path)
    parent, name = os.path.split(path)
    with making_folder(parent):
        _remove_stale(parent, name)
        holder = _temporary_path(parent, name)
        temporary, replaced = os.path.join(holder, name), os.path.join(holder, name + _REPLACED)
        try:
            os.mkdir(holder, 0o700)
            yield temporary
            mode = _mode_of(path) if os.path.isdir(path) else None
            if overwrite and os.path.lexists(path):
                os.rename(path, replaced)
            os.rename(temporary, path)
            _set_mode(path, mode)
        except OSError as error:
            if has_no_room(error):
                error.filename = path
            raise
        finally:
            # An exception may come at any place: what was there before is put back first, and where
            # that is interrupted, too, nothing is removed.
            if os.path.lexists(replaced) and not os.path.lexists(path):
                os.rename(replaced, path)
            shutil.rmtree(holder, ignore_errors=True)


def has_no_room(error):
    """Whether an error says that a disk or a file is full. Python leaves the file's name out."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def tensorflow_reason(error):
    """Why TensorFlow could not write a file: its error without operations and temporary names.

    Args:
        error: a `tf.errors.OpError`.
    """
    message = error.message.partition(" [Op:")[0]
    return (message.partition("; ")[2] or message).partition(" Failed to ")[0]


@contextlib.contextmanager
def making_folder(path):
    """Makes a folder and its parents; after an error, those that it made and are empty go again."""
    made, folder = [], os.path.abspath(path)
    while not os.path.lexists(folder):
        made.append(folder)
        folder = os.path.dirname(folder)
    try:
        os.makedirs(path, exist_ok=True)
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # one that is not empty ends it
            for folder in made:
                os.rmdir(folder)
        raise


@contextlib.contextmanager
def locked_folder(path, names=""):
    """Locks an existing folder against other processes of this machine that lock it.

    The system takes the lock away when the process ends, however it ends. What an earlier holder of
    the lock left in the folder, under temporary names of its files, is removed. What another
    machine (or container) left there is removed when nobody has written to it for an hour, since
    network file systems do not pass the lock on. Where a file system has no locks, only what dead
    processes of this machine left is removed, as `replacing_file` does.

    Args:
        path: the folder.
        names: str, a regular expression of the names of the files that holders of the lock write.

    Raises:
        BlockingIOError: another process has locked the folder.
    """
    folder = os.open(path, os.O_RDONLY) if fcntl is not None else None
    try:
        is_locked = folder is not None and _lock(folder, path)
        if is_locked:
            temporary = re.compile(rf"\.({names})\.([A-Za-z0-9-]+)\.\d+\.\w+\{_SUFFIX}")
            for entry in os.listdir(path):
                if match := temporary.fullmatch(entry):
                    file = os.path.join(path, entry)
                    with contextlib.suppress(OSError):
                        age = time.time() - os.path.getmtime(file)
                        if match[match.lastindex] == _host() or age > _ABANDONED_AFTER:
                            os.remove(file)
        yield
    finally:
        if folder is not None:
            os.close(folder)  # the lock goes with it


def _lock(folder, path):
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
            raise BlockingIOError(
                f"{path} must not be written by two processes at once. Another process is writing "
                "there now; wait until it ends, or stop it"
            ) from None
        return False
    return True


# A temporary name is .NAME.HOST.PID.RANDOM.part: NAME may hold dots, what comes after it does not.
_SUFFIX = ".part"
_ABANDONED_AFTER = 3600  # seconds without a write: a run writes every few seconds
_REPLACED = ".replaced"  # within a temporary folder: NAME.replaced was in its place before


def _temporary_path(folder, name):
    return os.path.join(folder, f".{name}.{_host()}.{os.getpid()}.{secrets.token_hex(4)}{_SUFFIX}")


def _host():
    """The host, and the space of its process numbers: containers may share a host's name."""
    host = re.sub("[^A-Za-z0-9-]", "-", socket.gethostname())[:20]  # names have 255 bytes at most
    with contextlib.suppress(OSError):
        host += f"-{os.stat('/proc/self/ns/pid').st_ino}"
    return host


def _remove_stale(folder, name):
    """Removes what processes of this machine that are no longer alive left of an output."""
    if os.name == "nt":  # `_is_alive` works on POSIX systems alone
        return
    pattern = re.compile(rf"\.{re.escape(name)}\.{re.escape(_host())}\.(\d+)\.\w+\{_SUFFIX}")
    for entry in os.listdir(folder):
        match = pattern.fullmatch(entry)
        if match is None or _is_alive(int(match[1])):
            continue
        stale = os.path.join(folder, entry)
        with contextlib.suppress(OSError):  # another process removes it, or it is someone else's
            if not os.path.isdir(stale):
                os.remove(stale)
                continue
            replaced = os.path.join(stale, name + _REPLACED)
            if os.path.lexists(replaced) and not os.path.lexists(os.path.join(folder, name)):
                os.rename(replaced, os.path.join(folder, name))  # killed between two renames
            shutil.rmtree(stale)


def _is_alive(process_id):
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # of another user; or no number of a process
        return True
    return True
