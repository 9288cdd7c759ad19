internal import Foundation
package import SystemPackage

/// The rule `*.nosync` in the `.stignore` of a folder that Syncthing keeps, without which it would carry what must not leave the device.
///
/// `.stignore` itself is not synced: each device needs the rule. Of its lines the first that matches decides, and `!` takes out of
/// what follows (https://docs.syncthing.net/users/ignoring.html): so the rule must stand before any such line, and before any `#include`,
/// which may bring one.
package enum StignoreRule {
    /// The rule's line.
    package static let line = "*\(ItemPath.excludedSuffix)"

    /// What was found, or done.
    package enum Outcome: Sendable, Equatable {
        /// No ancestor of the path holds `.stfolder`.
        case noFolder
        /// The rule stands in this file and comes first.
        case present(FilePath)
        /// It was added to this file.
        case added(FilePath)
        /// It is missing, and this file cannot be read or written.
        case failed(FilePath, Errno)
    }

    /// Adds the rule to the nearest Syncthing folder's `.stignore` if it is not there; everything else stays as it is, byte by byte.
    ///
    /// - Parameters:
    ///   - path: a containers root, or any path below.
    ///   - files: where it lies.
    /// - Returns: what was done; nothing is thrown, for a container works without Syncthing too.
    @discardableResult
    package static func ensure(above path: FilePath, files: any FileLayer) -> Outcome {
        guard let folder = folder(above: path, files: files) else { return .noFolder }
        let file = folder.appending(".stignore")
        // Syncthing leaves such a name alone, and removes it some day if we do not.
        let temporary = folder.appending(".syncthing.stignore-\(UUID().uuidString).tmp")
        do {
            let content: [UInt8]
            do {
                content = try files.read(file, limit: 1 << 20)
            } catch Errno.noSuchFileOrDirectory {
                content = []
            }
            guard let place = place(in: content) else { return .present(file) }
            try files.writeNew(temporary, content[..<place] + Array("\(line)\n".utf8) + content[place...])
            try files.renameOver(temporary, to: file)
            try files.syncDirectory(folder)
            return .added(file)
        } catch {
            try? files.remove(temporary)
            return .failed(file, error)
        }
    }

    /// Tells whether the rule is where it has to be, and changes nothing.
    package static func check(above path: FilePath, files: any FileLayer) -> Outcome {
        guard let folder = folder(above: path, files: files) else { return .noFolder }
        let file = folder.appending(".stignore")
        do throws(Errno) {
            return try place(in: files.read(file, limit: 1 << 20)) == nil ? .present(file) : .failed(file, .noSuchFileOrDirectory)
        } catch {
            return .failed(file, error)
        }
    }

    /// The nearest directory, from the path upwards, that holds Syncthing's marker.
    private static func folder(above path: FilePath, files: any FileLayer) -> FilePath? {
        var directory = path.lexicallyNormalized()
        while true {
            if (try? files.kind(of: directory.appending(".stfolder"))) ?? nil != nil { return directory }
            if !directory.removeLastComponent() { return nil }
        }
    }

    /// Where the rule has to be inserted; nil where it stands already.
    static func place(in content: [UInt8]) -> Int? {
        var place = 0
        var start = 0
        while start < content.count {
            let end = content[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? content.count
            let text = String(decoding: content[start..<end], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            // Must be first in the file, where it is known at all.
            if text.hasPrefix("#escape"), place == start, content[end - 1] == UInt8(ascii: "\n") { place = end }
            if text.hasPrefix("!") || text.hasPrefix("#include") { return place }
            if isRule(text) { return nil }
            start = end
        }
        return place
    }

    /// Whether a line ignores `*.nosync` everywhere; `(?i)` and `(?d)` make it no narrower.
    private static func isRule(_ text: String) -> Bool {
        var text = text[...]
        while text.hasPrefix("(?i)") || text.hasPrefix("(?d)") { text = text.dropFirst(4) }
        return text == line || text == "**/\(line)"
    }
}
