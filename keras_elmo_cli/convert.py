"""Turn a TensorFlow 1 checkpoint of bilm-tf into a model.

Writes the model of a checkpoint of the original trainer (bilm-tf): options.json and weights.hdf5,
which the originals read too; with --vocab also vocab.txt and the softmax.

    keras-elmo convert checkpoint my-elmo
    keras-elmo convert checkpoint my-elmo --vocab vocab.txt
"""

import contextlib
import os

from keras_elmo_cli.inputs import model_source, report


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

    if os.path.exists(os.path.join(options.folder, OPTIONS_FILE)) and not options.overwrite:
        raise FileExistsError(f"{options.folder} holds a model already; give --overwrite")
    source = model_source(options.checkpoint)
    if options.vocabulary:
        converted = BiLanguageModel.from_pretrained(source, options.vocabulary)
    else:
        converted = Elmo.from_pretrained(source)
    converted.save_pretrained(options.folder)
    if not options.vocabulary:
        for name in (SOFTMAX_FILE, VOCABULARY_FILE):  # of the model that was there
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(options.folder, name))
    report(options, f"{options.folder}: {', '.join(sorted(os.listdir(options.folder)))}")
