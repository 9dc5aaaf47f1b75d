"""Models for other programs: SavedModel and TFLite."""
