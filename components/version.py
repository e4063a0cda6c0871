"""The version, in one place: a metrics table and a law file of the same minor
version stay readable."""

VERSION = "0.1.0"
