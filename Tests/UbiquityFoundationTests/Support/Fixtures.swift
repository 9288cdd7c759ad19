import Foundation
import Synchronization
import UbiquityFoundation
import Waiting

/// Runs a body with a directory of its own, and removes it.
func withDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appending(path: "cocoa-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}

extension URL {
    /// An item in this directory.
    func file(_ name: String) -> URL { appending(path: name, directoryHint: .notDirectory) }

    /// Writes an item in this directory, and returns its URL.
    @discardableResult func write(_ name: String, _ text: String = "") throws -> URL {
        let url = file(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url
    }

    var text: String? { try? String(contentsOf: self, encoding: .utf8) }
}

/// Runs blocking code on a thread of its own, as an app does that has no tasks.
func onThread<Value: Sendable>(
    _ what: String = "a blocking call", file: String = #fileID, line: Int = #line, _ body: @escaping @Sendable () -> Value
) async throws -> Value {
    try await within(what, file: file, line: line) {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}

/// What happens, in order; for one reader.
final class Events: Sendable {
    private let continuation: AsyncStream<String>.Continuation
    private let reader: LimitedSequence<AsyncStream<String>>.AsyncIterator

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        self.continuation = continuation
        reader = stream.limited("an event").makeAsyncIterator()
    }

    func add(_ event: String) { continuation.yield(event) }

    /// Returns the next event.
    func next() async throws -> String {
        guard let event = try await reader.next() else { throw CancellationError() }
        return event
    }

    /// Returns the events until one, which is the last; a change that is told several times in a row counts once.
    func until(_ last: String) async throws -> [String] {
        var events: [String] = []
        while events.last != last {
            let event = try await next()
            if events.last != event { events.append(event) }
        }
        return events
    }
}

/// A place that code on several threads writes and a test reads.
final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    init(_ value: Value) { content = Mutex(value) }

    var value: Value {
        get { content.withLock { $0 } }
        set { content.withLock { $0 = newValue } }
    }
}
