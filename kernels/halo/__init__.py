"""The exchange of halos of grids: one launch moves all faces of all fields."""
