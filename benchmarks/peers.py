"""Other implementations of ELMo, each in an environment of its own: they need older libraries."""

import shutil
import subprocess
import sys

# The Python, and what pip installs. AllenNLP ended before the present versions of NumPy and others.
_ENVIRONMENTS = {
    "simple_elmo": (sys.executable, ["simple_elmo==0.9.2", "tensorflow==2.21.0", "tf_keras"]),
    "AllenNLP": (
        "python3.9",
        ["allennlp==2.10.1", "numpy==1.23.5", "scipy<1.12", "scikit-learn<1.4", "h5py<3.11"],
    ),
}


def pythons(folder):
    """The path of the Python of each peer's environment, which is made if it is not there."""
    found = {}
    for name, (python, packages) in _ENVIRONMENTS.items():
        environment = (folder / name).absolute()
        found[name] = environment / "bin/python"
        if (environment / "installed").exists():
            continue
        if shutil.which(python) is None:
            sys.exit(f"{name} needs {python}, which must be on the PATH")
        subprocess.run([python, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([found[name], "-m", "pip", "install", *packages], check=True)
        (environment / "installed").touch()
    return found
