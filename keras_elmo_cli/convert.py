"""Turn a TensorFlow 1 checkpoint of bilm-tf into a model.

Writes the model of a checkpoint of the original trainer (bilm-tf): options.json and weights.hdf5,
which the originals read too; with --vocab also vocab.txt and the softmax.

    keras-elmo convert checkpoint my-elmo
    keras-elmo convert checkpoint my-elmo --vocab vocab.txt
"""

import contextlib
import os

from keras_elmo_cli.inputs import report


def add_arguments(parser):
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="its folder, with options.json")
    parser.add_argument("folder", metavar="DIR", help="the folder to write")
    parser.add_input(
        "--vocab", dest="vocabulary", metavar="FILE", help="the vocabulary it was trained with"
    )
    parser.add_shared("--overwrite", "--quiet")


def run(options):
    from keras_elmo.config import OPTIONS_FILE, SOFTMAX_FILE, VOCABULARY_FILE
    from keras_elmo.models import Elmo
    from keras_elmo.training import BiLanguageModel
    from keras_elmo.weights import tf_checkpoint

    if os.path.exists(os.path.join(options.folder, OPTIONS_FILE)) and not options.overwrite:
        raise FileExistsError(f"{options.folder} holds a model already; give --overwrite")
    is_folder = os.path.isdir(options.checkpoint)  # the prefix of a checkpoint's files is none
    if not is_folder or tf_checkpoint.find_weights(options.checkpoint) is None:
        raise ValueError(
            f"{options.checkpoint} must be a folder with a TensorFlow checkpoint: a file "
            "`checkpoint`, *.index and *.data-*. Received: a path without one"
        )
    if options.vocabulary:
        converted = BiLanguageModel.from_pretrained(options.checkpoint, options.vocabulary)
    else:
        converted = Elmo.from_pretrained(options.checkpoint)
    converted.save_pretrained(options.folder)
    if not options.vocabulary:
        for name in (SOFTMAX_FILE, VOCABULARY_FILE):  # of the model that was there
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(options.folder, name))
    report(options, f"{options.folder}: {', '.join(sorted(os.listdir(options.folder)))}")
