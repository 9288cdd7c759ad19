import Foundation
import SystemPackage
import Waiting

/// Runs a body with a directory of its own, and removes it.
@MainActor
func withTemporaryDirectory<Result>(_ body: @MainActor (FilePath) async throws -> Result) async throws -> Result {
    let path = FileManager.default.temporaryDirectory.appending(path: "ubiquity-test-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(FilePath(path))
}

/// Waits for a document, which lives on the main actor.
@MainActor
func until(
    _ what: String, seen: @escaping @MainActor () -> String = { "" }, file: String = #fileID, line: Int = #line,
    _ condition: @escaping @MainActor () throws -> Bool
) async throws {
    let (seen, condition): (@Sendable () async -> String, @Sendable () async throws -> Bool) = ({ await seen() }, { try await condition() })
    try await Waiting.until(what, seen: seen, file: file, line: line, condition)
}
