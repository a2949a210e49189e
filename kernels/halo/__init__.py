"""The exchange of halos of grids: one launch moves all halos of all fields."""
