import Foundation
import SystemPackage

/// The directory of the package, with the sources, pages and tools that tests look at.
let packageDirectory = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()

/// The text of a file of the package.
func packageText(_ path: String) throws -> String {
    try String(contentsOfFile: packageDirectory.appending(path).string, encoding: .utf8)
}
