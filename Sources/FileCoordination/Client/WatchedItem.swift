import CLinux
import Glibc
import SystemPackage

/// The last known state of a presenter's item at its path.
///
/// A missing item is not reported at once, because programs that save safely move a file away and the new one in.
struct WatchedItem: Sendable {
    /// The result of a look.
    enum Finding: Equatable {
        /// The item was absent before, or is known to be missing.
        case nothing
        /// The item is there and has changed.
        case change
        /// The item is gone. Its fate is determined later, by this number.
        case absence(UInt64)
    }

    /// A finished coordinated write.
    enum Write {
        /// By this process, whose accessor has just returned.
        case own
        /// By another process, some time ago; whether the presenter was asked to accommodate a deletion.
        case foreign(isAnnounced: Bool)
    }

    private let path: FilePath
    private var hold: ItemHold?
    private var stamp: ItemStamp
    /// Its state when it was found at another place, or before that if its content had changed too; what happens from
    /// then on until it is watched there is a change.
    private var stampOfMove: ItemStamp?
    /// When a directory was moved, in nanoseconds since 1970, while entries that have changed since, at any depth, are not
    /// told yet: such a change need not show in the directory itself.
    private(set) var leftAt: Int64?
    private var isMissed = false
    private var absences: UInt64 = 0

    /// The number of an absence of which is still to be asked what it means.
    var openAbsence: UInt64? { isMissed ? absences : nil }

    init(_ path: FilePath) {
        self.path = path
        hold = ItemHold(path)
        stamp = hold?.stamp ?? .absent
    }

    /// The item, believed to be elsewhere.
    func followed(to path: FilePath) -> WatchedItem {
        var item = WatchedItem(path)
        if let hold { item.hold = hold }
        if let stampOfMove { item.stamp = stampOfMove }
        item.leftAt = leftAt
        return item
    }

    /// Whether something has happened since the last look.
    var isOutdated: Bool { stamp != ItemStamp(path) || (stamp.isAbsent && hold != nil) }

    /// Looks, for something has happened.
    mutating func look() -> Finding {
        if takeIn() { return .change }
        guard hold != nil, !isMissed else { return .nothing }
        isMissed = true
        absences += 1
        return .absence(absences)
    }

    /// Determines the fate of an item that was missed a while ago.
    ///
    /// - Parameter absence: the number of the absence.
    /// - Returns: a message for the presenter; nil if the presenter has been told since.
    mutating func resolve(_ absence: UInt64) -> PresenterMessage? {
        guard isMissed, absence == absences else { return nil }
        if takeIn() { return .didChange }
        isMissed = false
        // The watch at the new place goes on from this, for the item may have moved once more by then. If more than the
        // place has changed, it goes on from what was known before, and reports a change.
        if let hold, let place = hold.path {
            let present = hold.stamp
            stampOfMove = present.isOnlyMoved(since: stamp) ? present : stamp
            if present.isDirectory, leftAt == nil { leftAt = present.changed }
            return .didMove(place)
        }
        takeAbsence()
        return .didDisappear
    }

    /// Takes what a coordinated write has left for what the presenter knows.
    ///
    /// - Parameter write: which.
    /// - Returns: the number of an absence that the write does not explain.
    mutating func rebase(after write: Write) -> UInt64? {
        guard !takeIn(), let hold else { return nil }
        // The item is deleted without an announcement. If the writer has moved it, it no longer belongs to this
        // presenter.
        if case .foreign(isAnnounced: false) = write, hold.path == nil { isMissed = true }
        guard isMissed else {
            takeAbsence()
            return nil
        }
        absences += 1
        return absences
    }

    /// Records that the entries of a moved directory are known, unless it has moved once more.
    mutating func takeEntries() {
        if let hold, hold.stamp.isSameItem(as: ItemStamp(path)) { leftAt = nil }
    }

    private mutating func takeIn() -> Bool {
        guard let present = ItemHold(path) else { return false }
        hold = present
        leftAt = nil
        stamp = present.stamp
        isMissed = false
        return true
    }

    private mutating func takeAbsence() {
        hold = nil
        stamp = .absent
    }
}

/// A name for an item that follows it wherever it is moved.
private final class ItemHold: Sendable {
    private let descriptor: CInt

    init?(_ path: FilePath) {
        // O_PATH, whose number the Glibc module lacks: a name for the item that needs no right to read it.
        descriptor = path.withPlatformString { open($0, 0o10_000_000 | O_NOFOLLOW | O_CLOEXEC) }
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Its state, whatever is at the path by now.
    var stamp: ItemStamp {
        var status = Glibc.stat()
        return fstat(descriptor, &status) == 0 ? ItemStamp(status) : .absent
    }

    /// Where the item is now, by proc(5); nil when it is nowhere.
    var path: FilePath? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            let count = readlink("/proc/self/fd/\(descriptor)", buffer.baseAddress!, buffer.count - 1)
            guard count > 0 else { return nil }
            buffer[count] = 0
            let path = FilePath(platformString: buffer.baseAddress!)
            var (held, there) = (Glibc.stat(), Glibc.stat())
            guard fstat(descriptor, &held) == 0, path.withPlatformString({ lstat($0, &there) }) == 0 else { return nil }
            return held.st_ino == there.st_ino && held.st_dev == there.st_dev ? path : nil
        }
    }
}

/// The numbers that distinguish two states of an item; see lstat(2).
struct ItemStamp: Hashable, Sendable {
    private let numbers: [Int64]

    /// The state of an absent item.
    static let absent = ItemStamp(numbers: [])

    /// Whether there is nothing.
    var isAbsent: Bool { numbers.isEmpty }
    /// Whether there is a directory, which changes with what lies in it.
    let isDirectory: Bool

    /// When its status last changed, in nanoseconds since 1970; a rename is such a change.
    var changed: Int64? { isAbsent ? nil : numbers[5] }

    func isSameItem(as other: ItemStamp) -> Bool { !isAbsent && numbers.prefix(2) == other.numbers.prefix(2) }

    /// Returns whether nothing but a rename can have made this state out of an earlier one.
    ///
    /// A rename changes the time of the last status change only. The entries of a directory come and go, and are told,
    /// without a look at the directory, so only a change of them at or after the rename counts.
    func isOnlyMoved(since earlier: ItemStamp) -> Bool {
        guard numbers.count == earlier.numbers.count, isDirectory == earlier.isDirectory else { return false }
        if isAbsent { return true }
        let (modified, changed) = (numbers[4], numbers[5])
        guard isDirectory else { return numbers[..<5] == earlier.numbers[..<5] }
        return numbers[..<2] == earlier.numbers[..<2] && numbers[3] == earlier.numbers[3]
            && (modified == earlier.numbers[4] || modified < changed)
    }

    private init(numbers: [Int64]) {
        self.numbers = numbers
        isDirectory = false
    }

    init(_ status: Glibc.stat) {
        var status = status
        numbers = [
            Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size), Int64(status.st_mode),
            clinux_modified(&status), clinux_changed(&status),
        ]
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }

    init(_ path: FilePath) {
        var status = Glibc.stat()
        self = path.withPlatformString { lstat($0, &status) } == 0 ? ItemStamp(status) : .absent
    }
}
