import Foundation
import Glibc
import Synchronization
import SystemPackage

/// The reported names of entries, with the time of each first report.
final class Heard: Sendable {
    private struct State {
        var times: [String: Int64] = [:]
        var last: Int64 = 0
        var isReady = false
    }

    private let state = Mutex(State())

    func note(_ name: String, at time: Int64) {
        state.withLock { state in
            if state.times[name] == nil {
                state.times[name] = time
                state.last = time
            }
        }
    }

    func setReady() { state.withLock { $0.isReady = true } }
    var isReady: Bool { state.withLock { $0.isReady } }
    var last: Int64 { state.withLock { $0.last } }
    var count: Int { state.withLock { $0.times.count } }
    func time(of name: String) -> Int64? { state.withLock { $0.times[name] } }
    func lost(of names: [String]) -> Int { state.withLock { state in names.count { state.times[$0] == nil } } }
}

/// A running tool that watches a directory; a separate thread reads its output.
final class WatchingRun {
    let heard = Heard()
    let process = Process()
    /// The milliseconds from the start until everything was watched.
    private(set) var setUp = 0.0

    /// Starts the tool and waits until it watches.
    init?(_ tool: WatchingTool, _ directory: FilePath, timeout: Double = 60) throws {
        let command = tool.command(directory)
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        let started = monotonic()
        try process.run()
        Self.read(output, heard, tool.readyOnErrors || tool.readyText.isEmpty ? nil : tool.readyText, listsNames: tool.listsNames)
        Self.read(errors, heard, tool.readyOnErrors ? tool.readyText : nil)
        if tool.readyText.isEmpty {
            usleep(1_000_000)
            heard.setReady()
        }
        while !heard.isReady {
            if !process.isRunning || Double(monotonic() - started) > timeout * 1e9 {
                stop()
                return nil
            }
            usleep(200)
        }
        setUp = Double(monotonic() - started) / 1e6
    }

    /// Waits until a file has been reported; false if no report of any file has arrived for a while.
    func hears(_ name: String) -> Bool {
        var (count, quietSince) = (heard.count, monotonic())
        while heard.time(of: name) == nil {
            if heard.count != count { (count, quietSince) = (heard.count, monotonic()) }
            if monotonic() - quietSince > 10_000_000_000 { return false }
            usleep(200)
        }
        return true
    }

    func stop() {
        if process.isRunning {
            kill(process.processIdentifier, SIGCONT)
            process.terminate()
            let began = monotonic()
            while process.isRunning, monotonic() - began < 1_000_000_000 { usleep(1_000) }
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        process.waitUntilExit()
    }

    /// The resident memory in kilobytes.
    var residentMemory: Double {
        let status = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") } ?? ""
        return Double(line.split(whereSeparator: \.isWhitespace).dropFirst().first ?? "0") ?? 0
    }

    private static func read(_ pipe: Pipe, _ heard: Heard, _ readyText: String?, listsNames: Bool = false) {
        let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 1 << 18)
            var rest: [UInt8] = []
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count <= 0 { break }
                let now = monotonic()
                rest.append(contentsOf: buffer[..<count])
                var start = 0
                while let end = rest[start...].firstIndex(of: 0x0A) {
                    if listsNames, heard.isReady {
                        takeNames(rest[start..<end], at: now, heard)
                    } else {
                        take(rest[start..<end], at: now, heard, readyText)
                    }
                    start = end + 1
                }
                rest.removeFirst(start)
            }
            close(descriptor)
        }
    }

    private struct Names: Decodable { var files: [String]? }

    private static func takeNames(_ line: ArraySlice<UInt8>, at now: Int64, _ heard: Heard) {
        guard let names = try? JSONDecoder().decode(Names.self, from: Data(line)).files else { return }
        for name in names { heard.note(name.split(separator: "/").last.map(String.init) ?? name, at: now) }
    }

    /// Handles a line: the entry's name follows the last slash.
    private static func take(_ line: ArraySlice<UInt8>, at now: Int64, _ heard: Heard, _ readyText: String?) {
        if let readyText, !heard.isReady, String(decoding: line, as: UTF8.self).contains(readyText.trimmingCharacters(in: .whitespaces)) {
            return heard.setReady()
        }
        var line = line
        if line.last == 0x2F { line.removeLast() }
        let name = line.lastIndex(of: 0x2F).map { line[($0 + 1)...] } ?? line
        heard.note(String(decoding: name, as: UTF8.self), at: now)
    }
}

/// Returns the monotonic time in nanoseconds.
func monotonic() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
