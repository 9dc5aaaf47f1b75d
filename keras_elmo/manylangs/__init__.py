"""The files of ELMoForManyLangs, read without PyTorch."""
