"""Machine images, judged by what they are made of."""
