import Waiting

/// The refusal of an eviction of a document that a program has open.
let inUse = "another program has it open"

/// The fault of a document that is not replaced or removed because a program has it open to write.
let inUseToWrite = "another program has it open to write"

/// Repeats an eviction while it is refused because the document is open.
///
/// A process that another test has just started has a copy of every descriptor of this one until it runs its program.
func onceClosed(file: String = #fileID, line: Int = #line, _ evict: () async throws -> Void) async throws {
    try await until("no program has the document open", file: file, line: line) {
        do {
            try await evict()
            return true
        } catch  where "\(error)".contains(inUse) {
            return false
        }
    }
}
