import Dispatch
import Foundation
import Glibc
import SystemPackage
import Testing

@testable import TreeWatching

/// A script: what is there, what is done, and what a watcher must report of it.
///
/// `given`, `when` and `then` begin the parts; `options` comes before them. In names `\n`, `\\` and `\xNN` are escapes; a path that begins with a
/// slash lies outside the watched tree, `.` is the tree itself. Commands: mkdir, write, append, truncate, chmod, mv, exchange, link, symlink, rm,
/// rmtree, repeat N COMMAND (with `%` for the number), settle, hold and release (what lies between is done while the watcher does not look).
/// In `then`, a line that begins with `?` may be missing, lines between `{` and `}` come in any order, and a file that is reported as modified
/// several times running is reported once.
struct WatchScript: CustomTestStringConvertible, Sendable {
    let name: String
    let testDescription: String
    private var options: [String] = []
    private var given: [[String]] = []
    private var when: [[String]] = []
    private var then: [String] = []

    /// The row of the requirements that its name begins with.
    var row: Substring { name.prefix(4) }

    static let folder = FilePath(#filePath).removingLastComponent().removingLastComponent().appending("Scripts")

    /// The scripts of a row of the requirements.
    ///
    /// - Throws: an error where there is none: what nothing shows is not shown.
    static func all(_ row: String = "", besides rows: Set<Substring> = []) throws -> [WatchScript] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.string).filter { $0.hasPrefix(row) && $0.hasSuffix(".txt") }
        let scripts = try names.sorted().map(WatchScript.init).filter { !rows.contains($0.row) }
        guard !scripts.isEmpty else { throw ScriptError("no script in \(folder) shows \(row.isEmpty ? "anything else" : row)") }
        return scripts
    }

    init(_ name: String) throws {
        self.name = name
        let fd = try FileDescriptor.open(Self.folder.appending(name), .readOnly)
        defer { try? fd.close() }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = try bytes.withUnsafeMutableBytes { try fd.read(into: $0) }
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map { $0.drop { $0 == " " } }
        testDescription = name
        var part = ""
        for line in lines where !line.hasPrefix("#") {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "given", "when", "then": part = words[0]
            case "options": options = Array(words.dropFirst())
            default:
                switch part {
                case "given": given.append(words)
                case "when": when.append(words)
                case "then": then.append(String(line))
                default: throw ScriptError("\(name): a line outside every part: \(line)")
                }
            }
        }
        if then.isEmpty { throw ScriptError("\(name): nothing is expected") }
    }

    /// Runs the script in a fresh directory of `place`, and checks what is reported.
    func run(in place: FilePath, source: TreeWatcher.Options.Source) async throws {
        let stage = try Stage(in: place)
        defer { stage.remove() }
        for command in given { try stage.perform(command) }
        let recorder = ChangeRecorder()
        let watcher = try TreeWatcher(stage.root, options: try watcherOptions(source))
        defer { watcher.close() }
        watcher.tap { recorder.take($0) }
        try await watcher.settled()
        var gate: DispatchSemaphore?
        for command in when {
            switch command[0] {
            case "settle": try await watcher.settled()
            case "hold":
                gate = await watcher.hold()
            case "release":
                gate?.signal()
                gate = nil
            // One call is one change, however long its caller stands between its events.
            case "mv" where gate == nil, "exchange" where gate == nil, _ where gate == nil && options.contains("collapse"):
                try await watcher.inOne { try stage.perform(command) }
            default: try stage.perform(command)
            }
        }
        gate?.signal()
        try await watcher.settled()
        check(recorder.lines(below: stage.root), expected: then)
        // Whatever was reported, what is known is what is there.
        if !then.contains(where: { $0.hasPrefix("rootLost") }) || then.last?.hasPrefix("rootLost") == false {
            #expect(try await watcher.knownPaths() == stage.paths(excluding: options.contains("exclude")), "\(name)")
        }
    }

    private func watcherOptions(_ source: TreeWatcher.Options.Source) throws -> TreeWatcher.Options {
        var result = TreeWatcher.Options()
        result.source = source
        var words = options[...]
        while let word = words.popFirst() {
            switch word {
            case "collapse": result.collapses = true
            case "attributes": result.attributes = true
            case "settle": result.settling = .init(quiet: .milliseconds(Int(words.popFirst()!)!))
            case "exclude": result.exclude.append(words.popFirst()!)
            default: throw ScriptError("\(name): no such option: \(word)")
            }
        }
        return result
    }

    private func check(_ lines: [String], expected: [String]) {
        var rest = lines[...]
        var group: [String]?
        for line in expected {
            switch line {
            case "{": group = []
            case "}":
                let count = group!.count
                #expect(rest.prefix(count).sorted() == group!.sorted(), "\(name): \(lines)")
                rest = rest.dropFirst(count)
                group = nil
            default:
                if group != nil {
                    group!.append(line)
                } else if line.hasPrefix("?") {
                    if rest.first == String(line.dropFirst().drop { $0 == " " }) { rest = rest.dropFirst() }
                } else {
                    #expect(rest.first == line, "\(name): \(lines)")
                    rest = rest.dropFirst()
                }
            }
        }
        #expect(rest.isEmpty, "\(name): \(lines)")
    }
}

struct ScriptError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
