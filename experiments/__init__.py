"""Questions put to the libraries: studies, and the command line that runs them."""
