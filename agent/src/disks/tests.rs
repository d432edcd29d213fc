mod choosing;
mod finding;
