internal import Foundation

/// Removes a tree that a running program may still write to.
///
/// A removal goes bottom up, and fails at a directory in which the program made something meanwhile, as `rm -r` does.
/// A person then removes what is left; so does this function.
///
/// - Parameters:
///   - path: the tree.
///   - file: the file of the wait.
///   - line: the line of the wait.
/// - Throws: ``Overdue`` if the tree is still there at the usual limit, with the last error.
package func removeInUse(_ path: String, file: String = #fileID, line: Int = #line) async throws {
    var last: (any Error)?
    try await until("\(path) is removed", seen: { last.map { "\($0)" } ?? "" }, file: file, line: line) {
        do { try FileManager.default.removeItem(atPath: path) } catch { last = error }
        return (try? FileManager.default.attributesOfItem(atPath: path)) == nil
    }
}
