"""One pass of the core over a capture, and what is known of the capture as a whole."""
