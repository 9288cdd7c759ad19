import Foundation
import SystemPackage

/// Runs a body with a directory of its own, and removes it.
@discardableResult
func withTemporaryDirectory<Result>(_ body: (FilePath) async throws -> Result) async throws -> Result {
    let path = FileManager.default.temporaryDirectory.appending(path: "ubiquity-test-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(FilePath(path))
}

/// Every file and directory below a path, relative to it.
func tree(below path: FilePath) throws -> Set<String> {
    Set(try FileManager.default.subpathsOfDirectory(atPath: path.string))
}
