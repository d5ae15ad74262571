"""The gateway: the only way from a box to its model. It adds the key, meters and cuts calls."""
