"""How Django writes dates and numbers where no page does it itself, as in the admin: as the pages write them."""
