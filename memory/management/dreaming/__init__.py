"""Dream's runs in the installation: asked for, claimed, carried out, taken over, told of."""
