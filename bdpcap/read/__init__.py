"""One pass of the core over a capture, and facts about the capture as a whole."""
