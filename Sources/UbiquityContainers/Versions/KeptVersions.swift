internal import FileCoordination
internal import Foundation
internal import SystemPackage

/// The versions of an item that an app has kept: `.versions.nosync/Letter.txt/20260102-030405-678-ABC123.txt` beside the item.
///
/// They stay on this device, as the name of their directory says to synchronisers. It blocks, and the caller coordinates.
struct KeptVersions: Sendable {
    static let prefix = "kept-"

    let item: FilePath
    private let files = LinuxFileLayer()

    init(of item: FilePath) { self.item = item }

    /// The directory of the versions of all items beside the item.
    private var top: FilePath { item.removingLastComponent().appending(ItemPath.keptVersionsName) }
    private var directory: FilePath { top.appending(item.lastComponent?.string ?? "") }

    /// The path of a version with an identifier; nil if it is no identifier of a kept version.
    func path(of identifier: FileVersionIdentifier) -> FilePath? {
        guard identifier.rawValue.hasPrefix(Self.prefix) else { return nil }
        let name = identifier.rawValue.dropFirst(Self.prefix.count)
        guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else { return nil }
        return directory.appending(String(name))
    }

    /// The time in the name of a version.
    static func date(of identifier: FileVersionIdentifier) -> Date? {
        let digits = identifier.rawValue.dropFirst(prefix.count).prefix(19).filter(\.isNumber)
        guard digits.count == 17 else { return nil }
        func number(_ from: Int, _ count: Int) -> Int? { Int(digits.dropFirst(from).prefix(count)) }
        return calendar.date(
            from: DateComponents(
                year: number(0, 4), month: number(4, 2), day: number(6, 2), hour: number(8, 2), minute: number(10, 2), second: number(12, 2),
                nanosecond: number(14, 3).map { $0 * 1_000_000 }))
    }

    /// The identifiers of the versions, oldest first; none if the directory cannot be read.
    var identifiers: [FileVersionIdentifier] {
        ((try? files.directoryNames(in: directory)) ?? nil ?? []).filter { !$0.hasPrefix(".") }.sorted().map {
            FileVersionIdentifier(rawValue: Self.prefix + $0)
        }
    }

    /// Keeps a copy of a file or directory.
    ///
    /// A crash leaves the version complete or not there, and perhaps a hidden draft, which the next call removes.
    func add(_ contents: FilePath, moving: Bool, now: Date = Date()) throws -> FileVersionIdentifier {
        for place in [top, directory] { try files.makeDirectory(place) }
        let parts = Self.calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .nanosecond], from: now)
        func digits(_ value: Int?, _ count: Int) -> String {
            let text = "\(value ?? 0)"
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2)
        let time = digits(parts.hour, 2) + digits(parts.minute, 2) + digits(parts.second, 2)
        let random = String((0..<6).map { _ in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".randomElement()! })
        let end = item.extension.map { ".\($0)" } ?? ""
        let name = "\(day)-\(time)-\(digits((parts.nanosecond ?? 0) / 1_000_000, 3))-\(random)\(end)"
        let version = directory.appending(name)
        // The drafts of one item have one beginning, by which the next call finds what a crash has left.
        let (draft, replacement) = (ItemReplacement.draft(beside: directory.appending(item.lastComponent?.string ?? "")), ItemReplacement(files))
        replacement.removeDrafts(beside: directory.appending(item.lastComponent?.string ?? ""))
        do {
            if try files.kind(of: contents) == nil { throw Errno.noSuchFileOrDirectory }
            try FileManager.default.copyItem(atPath: contents.string, toPath: draft.string)
            try replacement.sync(draft)
            try files.renameNew(draft, to: version)
            try files.syncDirectory(directory)
        } catch {
            replacement.discard(draft)
            throw error
        }
        if moving { replacement.discard(contents) }
        return FileVersionIdentifier(rawValue: Self.prefix + name)
    }

    /// Removes all versions.
    func removeAll() {
        try? FileManager.default.removeItem(atPath: directory.string)
        try? files.removeDirectory(top)
    }

    /// Takes the versions along when their item has moved; versions that are at the new place stay there.
    func move(to target: FilePath) throws(Errno) {
        let new = KeptVersions(of: target)
        guard let names = try files.directoryNames(in: directory) else { return }
        for place in [new.top, new.directory] { try files.makeDirectory(place) }
        for name in names {
            do { try files.renameNew(directory.appending(name), to: new.directory.appending(name)) } catch .fileExists { continue }
        }
        try files.syncDirectory(new.directory)
        try? files.removeDirectory(directory)
        try? files.removeDirectory(top)
    }

    private static let calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        return calendar
    }()
}
