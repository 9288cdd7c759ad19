internal import CLinux
internal import Foundation
internal import Glibc
package import SystemPackage

/// Puts a finished draft in the place of an item, a file or a directory, in one step.
///
/// It blocks, and the caller coordinates. A crash before the step leaves the item, and the draft under its own name; a crash after it
/// leaves the new item, and perhaps the old one under the draft's name. Synchronisers ignore a name from ``draft(beside:)``, and
/// ``removeDrafts(beside:)`` removes what crashes have left.
package struct ItemReplacement: Sendable {
    private let files: any FileLayer

    package init(_ files: any FileLayer = LinuxFileLayer()) { self.files = files }

    private static let mark = ".draft-"

    /// Returns a new name for a draft in an item's directory: `.Letter.txt.draft-PROCESS-RANDOM.nosync`.
    package static func draft(beside item: FilePath) -> FilePath {
        let name = item.lastComponent?.string ?? ""
        // The longest name has 255 bytes.
        let short = String(decoding: name.utf8.prefix(180), as: UTF8.self)
        let random = String(UInt32.random(in: 0...UInt32.max), radix: 36)
        return item.removingLastComponent().appending(".\(short)\(mark)\(getpid())-\(random)\(ItemPath.excludedSuffix)")
    }

    /// Returns the name for a draft that is finished, and for what is exchanged for it.
    package static func swap(of draft: FilePath) -> FilePath {
        let name = (draft.lastComponent?.string ?? "").replacingOccurrences(of: mark, with: swapMark)
        return draft.removingLastComponent().appending(name)
    }

    private static let swapMark = ".swap-"

    /// Returns the swaps that ended processes have left beside an item.
    package func abandonedSwaps(beside item: FilePath) -> [FilePath] { abandoned(beside: item, Self.swapMark) }

    private func abandoned(beside item: FilePath, _ mark: String) -> [FilePath] {
        guard let name = item.lastComponent?.string, let names = try? files.names(in: item.removingLastComponent()) else { return [] }
        let prefix = ".\(String(decoding: name.utf8.prefix(180), as: UTF8.self))\(mark)"
        return names.filter { draft in
            guard draft.hasPrefix(prefix), draft.hasSuffix(ItemPath.excludedSuffix) else { return false }
            // A process that runs may still use it.
            guard let process = Int32(draft.dropFirst(prefix.count).prefix { $0.isNumber }), process != getpid() else { return false }
            return kill(process, 0) != 0 && errno == ESRCH
        }.map { item.removingLastComponent().appending($0) }
    }

    /// Puts a draft in the place of an item, which need not exist, and removes the item that was there.
    ///
    /// - Parameters:
    ///   - item: the item.
    ///   - draft: a file or a directory in the item's directory, with its content synced.
    /// - Throws: `Errno`; the item is as it was then.
    package func replace(_ item: FilePath, by draft: FilePath) throws(Errno) {
        let (new, old) = (try files.kind(of: draft), try files.kind(of: item))
        if new != .directory, old != .directory {
            try files.renameOver(draft, to: item)
        } else if old == nil {
            try files.renameNew(draft, to: item)
        } else {
            // rename(2) replaces no directory that holds anything, and no file by a directory.
            try exchange(item, for: draft)
            discard(draft)
        }
        // The item is there, whether or not that survives a loss of power.
        try? files.syncDirectory(item.removingLastComponent())
    }

    /// Exchanges an item and a draft, so that the item that was there has the draft's name.
    ///
    /// - Throws: `Errno`: `noSuchFileOrDirectory` if there is no item; `invalidArgument` where the file system cannot do that.
    package func exchange(_ item: FilePath, for draft: FilePath) throws(Errno) {
        guard
            draft.withPlatformString({ from in
                item.withPlatformString { to in clinux_exchange(AT_FDCWD, from, AT_FDCWD, to) }
            }) == 0
        else { throw Errno(rawValue: errno) }
    }

    /// Removes a draft, or the item that was exchanged for it, as far as possible.
    package func discard(_ draft: FilePath) { try? FileManager.default.removeItem(atPath: draft.string) }

    /// Removes the drafts that ended processes have left beside an item.
    ///
    /// - Parameter item: the item; the caller has a coordinated write of it.
    package func removeDrafts(beside item: FilePath) {
        for draft in abandoned(beside: item, Self.mark) { discard(draft) }
    }

    /// Makes everything in a directory durable, or the content of a file.
    package func sync(_ draft: FilePath) throws(Errno) {
        switch try files.kind(of: draft) {
        case .directory:
            for name in try files.names(in: draft) { try sync(draft.appending(name)) }
            try files.syncDirectory(draft)
        case .file: try files.syncFile(draft)
        case .other, nil: return
        }
    }
}
