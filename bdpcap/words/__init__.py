"""Units, quantities, colours and endpoints in the form in which people write and read them."""
