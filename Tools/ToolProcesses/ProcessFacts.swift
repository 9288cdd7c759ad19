import Foundation
import Glibc

/// What proc(5) tells of a process.
public struct ProcessFacts: Sendable {
    /// Its number.
    public let identifier: Int32

    /// Creates the facts of a process, which are read when they are asked for.
    public init(_ identifier: Int32) { self.identifier = identifier }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "/proc/\(identifier)/\(name)", encoding: .utf8) }

    /// The processes that it has started and that have not ended.
    public var children: [Int32] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(identifier)/task")) ?? []
        return threads.flatMap { (text("task/\($0)/children") ?? "").split(separator: " ").compactMap { Int32($0) } }
    }

    /// Whether a signal has stopped all of its threads: it takes effect when one of them runs.
    public var isStopped: Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(identifier)/task")) ?? []
        return !threads.isEmpty
            && threads.allSatisfy { thread in
                // The state follows the name in brackets. A thread may have ended meanwhile.
                guard let text = text("task/\(thread)/stat"), let end = text.lastIndex(of: ")") else { return true }
                return text[end...].hasPrefix(") T")
            }
    }

    /// The seconds of processor time that it has used; zero if it has ended.
    public var processorTime: Double {
        guard let text = text("stat"), let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // utime and stime.
        return ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }

    /// The memory that it occupies, in bytes; zero if it has ended.
    public var residentMemory: Int {
        let pages = text("statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }
}
