internal import Foundation
package import SystemPackage

/// The rule `*.nosync` in the `.stignore` of a Syncthing folder; without it Syncthing would transfer items that must
/// not leave the device.
///
/// `.stignore` itself is not synchronised, so each device needs the rule. The first matching line decides, and `!`
/// exempts from the following lines (https://docs.syncthing.net/users/ignoring.html). The rule must therefore come
/// before any such line, and before any `#include`, which may contain one.
package enum StignoreRule {
    /// The rule's line.
    package static let line = "*\(ItemPath.excludedSuffix)"

    /// The result of a check or an addition.
    package enum Outcome: Sendable, Equatable {
        /// No ancestor of the path contains `.stfolder`.
        case noFolder
        /// This file contains the rule in the first place.
        case present(FilePath)
        /// The rule was added to this file.
        case added(FilePath)
        /// The rule is missing, and this file cannot be read or written.
        case failed(FilePath, Errno)
    }

    /// Adds the rule to the `.stignore` of the nearest Syncthing folder if it is missing; every other byte stays
    /// unchanged.
    ///
    /// - Parameters:
    ///   - path: a containers root, or any path below it.
    ///   - files: the layer that changes the file.
    /// - Returns: the result. It never throws, because a container also works without Syncthing.
    @discardableResult
    package static func ensure(above path: FilePath, files: any FileLayer) -> Outcome {
        guard let folder = folder(above: path, files: files) else { return .noFolder }
        let file = folder.appending(".stignore")
        // Syncthing ignores such a name, and eventually removes the file if this package does not.
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

    /// Returns whether the rule is in the right place, without changing anything.
    package static func check(above path: FilePath, files: any FileLayer) -> Outcome {
        guard let folder = folder(above: path, files: files) else { return .noFolder }
        let file = folder.appending(".stignore")
        do throws(Errno) {
            return try place(in: files.read(file, limit: 1 << 20)) == nil ? .present(file) : .failed(file, .noSuchFileOrDirectory)
        } catch {
            return .failed(file, error)
        }
    }

    /// Returns the nearest directory, from the path upwards, that contains Syncthing's marker.
    private static func folder(above path: FilePath, files: any FileLayer) -> FilePath? {
        var directory = path.lexicallyNormalized()
        while true {
            if (try? files.kind(of: directory.appending(".stfolder"))) ?? nil != nil { return directory }
            if !directory.removeLastComponent() { return nil }
        }
    }

    /// Returns the position at which the rule must be inserted; nil if it is already there.
    static func place(in content: [UInt8]) -> Int? {
        var place = 0
        var start = 0
        while start < content.count {
            let end = content[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? content.count
            let text = String(decoding: content[start..<end], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            // Syncthing versions that know this line require it to be first in the file.
            if text.hasPrefix("#escape"), place == start, content[end - 1] == UInt8(ascii: "\n") { place = end }
            if text.hasPrefix("!") || text.hasPrefix("#include") { return place }
            if isRule(text) { return nil }
            start = end
        }
        return place
    }

    /// Returns whether a line ignores `*.nosync` everywhere; `(?i)` and `(?d)` do not restrict it.
    private static func isRule(_ text: String) -> Bool {
        var text = text[...]
        while text.hasPrefix("(?i)") || text.hasPrefix("(?d)") { text = text.dropFirst(4) }
        return text == line || text == "**/\(line)"
    }
}
