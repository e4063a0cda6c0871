"""The steps: plain paths in, artifact and manifest out.

Each verb is a folder that exports one frozen ``Config`` and one ``run``. The
modules directly in this folder are leaves that the steps share.
"""
