"""What the layers of a model know: probing, the occurrences of a word, pictures, the projector."""
