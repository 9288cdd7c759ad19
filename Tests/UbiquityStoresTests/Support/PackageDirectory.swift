import SystemPackage

/// The directory of the package, with the sources, pages and tools that tests look at.
let packageDirectory = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
