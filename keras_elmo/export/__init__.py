"""Models as files that other programs load: SavedModel and TFLite."""
