internal import Glibc
package import SystemPackage
package import UbiquityContainers

/// The known facts about an item, and the rules that derive its status.
package struct ItemEvidence: Sendable {
    /// The entry at the item's path.
    package var disk: DiskState?
    /// The entry in this device's index.
    package var local: IndexEntry?
    /// The entry of the newest version in all devices' indices.
    package var global: IndexEntry?
    /// The time of change on the disk, if the disk cannot store Syncthing's time.
    package var diskTime: String?
    /// Whether Syncthing is fetching it.
    package var isFetched = false
    /// Whether another device is known to have the complete newest version.
    package var isElsewhere = false
    /// Whether another device that shares the folder is connected.
    package var isConnected = false
    /// Whether a pattern in `.stignore` excludes it.
    package var isIgnored = false

    package init() {}

    /// The status by the first rule that applies; the caller handles exclusion by name and conflict copies before.
    package var status: ItemStatus {
        if local?.isIgnored == true || isIgnored { return .excluded }
        guard let global = global.flatMap({ $0.isAbsent ? nil : $0 }) else {
            // No index contains the item: Syncthing has not scanned it yet, or it does not exist.
            return disk == nil ? .unknown : .waitingToUpload
        }
        if global.isInvalid { return .unknown }
        let local = local.flatMap { $0.isAbsent || $0.isInvalid ? nil : $0 }
        if local?.version != global.version {
            if global.isDeleted { return disk == nil ? .unknown : .downloaded }
            if isFetched { return .downloading }
            return disk == nil ? .notDownloaded : .downloaded
        }
        if global.isDeleted { return disk == nil ? .unknown : .waitingToUpload }
        // The item was removed here, and Syncthing has not scanned since.
        guard let disk else { return .unknown }
        if disk.differs(from: global, time: diskTime) { return .waitingToUpload }
        if isElsewhere { return .current }
        return isConnected ? .uploading : .waitingToUpload
    }
}

/// The result of lstat(2) for an item.
package struct DiskState: Sendable, Equatable {
    package var isDirectory: Bool
    package var size: Int64
    /// The modification time in seconds since 1970.
    package var seconds: Int
    package var nanoseconds: Int

    package init(isDirectory: Bool, size: Int64, seconds: Int, nanoseconds: Int) {
        self.isDirectory = isDirectory
        self.size = size
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Inspects a path; nil if nothing is there or visible.
    package init?(_ path: FilePath) {
        var status = stat()
        guard lstat(path.string, &status) == 0 else { return nil }
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        size = Int64(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }

    /// Returns whether the item has changed since it was indexed.
    package func differs(from entry: IndexEntry, time: String?) -> Bool {
        if isDirectory != entry.isDirectory { return true }
        if isDirectory || entry.type.contains("SYMLINK") { return false }
        if size != entry.size { return true }
        // An unreadable time is no evidence.
        guard let indexed = Timestamp(time ?? entry.modified) else { return false }
        return indexed != Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}

/// A time in Go's format: RFC 3339 with up to nine digits of a second.
package struct Timestamp: Sendable, Equatable {
    package var seconds: Int
    package var nanoseconds: Int

    package init(seconds: Int, nanoseconds: Int) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package init?(_ text: String) {
        let form = /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))/
        guard let found = text.wholeMatch(of: form)?.output else { return nil }
        var parts = tm()
        parts.tm_year = Int32(found.1)! - 1900
        parts.tm_mon = Int32(found.2)! - 1
        parts.tm_mday = Int32(found.3)!
        parts.tm_hour = Int32(found.4)!
        parts.tm_min = Int32(found.5)!
        parts.tm_sec = Int32(found.6)!
        seconds = timegm(&parts)
        if let sign = found.8, let hours = found.9.flatMap({ Int($0) }), let minutes = found.10.flatMap({ Int($0) }) {
            seconds -= (sign == "+" ? 1 : -1) * (hours * 3600 + minutes * 60)
        }
        let digits = found.7.map(String.init) ?? ""
        nanoseconds = Int(digits + String(repeating: "0", count: 9 - digits.count))!
    }
}
