// A hash is part of the names and contents that this module reads and writes, so its users see it here.
@_exported public import ContentHashing
