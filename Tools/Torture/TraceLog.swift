import CLinux
import FileCoordination
import Foundation
import Glibc

/// Receives the events of a scene's files.
protocol Recorder: Sendable {
    /// Reports a violation.
    func complain(_ text: String)
    /// Records that one will be added to a file's number, and then that it was.
    func adding()
    func added()
    /// Records that a file with this number will be removed, and then that it was.
    func removing(_ number: Int)
    func removed(_ number: Int)
}

/// Writes events to a file that outlives its process.
final class TraceLog: Recorder {
    /// The kinds of notes.
    enum Note: UInt8 {
        case complaint, adding, added, removing, removed
    }

    private let file: CInt

    init?(_ path: String) {
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        if file < 0 { return nil }
    }

    deinit { close(file) }

    /// The time in nanoseconds, which all processes share.
    static var now: UInt64 { clinux_monotonic_nanoseconds(0) }

    /// Writes at once, because the process may be killed at any time.
    private func write(_ record: TraceRecord) {
        let bytes = record.bytes(at: Self.now)
        _ = Glibc.write(file, bytes, bytes.count)
    }

    func see(_ event: ArbiterEvent?, _ actions: [ArbiterAction]) {
        if let event { write(.event(event)) }
        for action in actions { write(.action(action)) }
    }

    private func note(_ note: Note, _ number: Int = 0, _ text: String = "") { write(.note(kind: note.rawValue, number: number, text: text)) }
    func complain(_ text: String) { note(.complaint, 0, text) }
    func adding() { note(.adding) }
    func added() { note(.added) }
    func removing(_ number: Int) { note(.removing, number) }
    func removed(_ number: Int) { note(.removed, number) }
}
