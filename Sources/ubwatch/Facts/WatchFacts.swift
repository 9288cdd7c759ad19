import Foundation
import StoreInspection
import UbiquityContainers
import UbiquityStores

/// The facts that explain why a change has not arrived: a container, its stores and peers, this device's part in it,
/// and its items, at one moment.
///
/// `ubwatch status --json` prints this object. Times are instants, never ages, so two values are equal while only time
/// passes; ``time`` alone tells the moment of the inspection.
struct WatchFacts: Sendable, Codable, Equatable {
    /// The time of the inspection.
    var time: Date
    /// The container's directory, absolute.
    var path: String
    /// The account, from the path.
    var account: String
    /// The container's identifier, from the path.
    var container: String
    /// Whether the container is there.
    var presence: Presence
    /// The names of the peers with an attachment mark.
    var attached: [String] = []
    /// This device's records of the account and the container.
    var device: Device
    /// The activity of the account on this device.
    var state: AccountState
    /// The reasons for the state, and the obstacles to changes: one sentence each, most important first.
    var reasons: [String] = []
    /// The commands that look into the reasons, or remove them, in their order; a reason without a command has none.
    var remedies: [String] = []
    /// The stores' contents in the container, by name, with their peers.
    var stores: [ContainerSurvey.Store] = []
    /// The stores of this device that belong to the container.
    var localStores: [LocalStore] = []
    /// The space that each kind of data uses.
    var storage = Storage()
    /// The space where the container lies.
    var space = Space()
    /// What carries the container, and the other devices that it knows; nil if it is not asked.
    var transport: TransportCondition?
    /// The documents and other items of the user.
    var items = Items()
    /// The held, quarantined and conflicting entries.
    var troubles = Troubles()

    /// The presence of a container.
    enum Presence: String, Sendable, Codable {
        /// It exists, and has this device's mark if this device is attached.
        case there
        /// It exists without this device's mark: it has been wiped, was made again, or is still arriving.
        case unmarked
        /// It exists, but is another directory than before.
        case replaced
        /// Its directory is gone, or is not a directory.
        case gone
    }

    /// The records of the device home.
    struct Device: Sendable, Codable, Equatable {
        /// The device home; nil if there is none.
        var home: String?
        /// The account that is signed in on this device; nil if there is none.
        var signedIn: String?
        /// This device's peer in the container; nil if the device has not used it.
        var peer: String?
        /// Whether this device has ever written its mark into the container.
        var wasAttached = false
        /// The reason why this device does not exchange in the container, such as a missing mark; nil if it may.
        var detached: String?
        /// The reason why the home cannot be read; nil if it can.
        var failure: String?
    }

    /// The statuses of the items with respect to the user's other devices.
    struct Items: Sendable, Codable, Equatable {
        /// The number of items, without stores and marks.
        var count = 0
        /// The number of items with each status.
        var byStatus: [String: Int] = [:]
        /// The number of items that are only on other devices.
        var elsewhere = 0
        /// Some of the items, by path, up to the requested number; items that are neither current, excluded nor unknown
        /// come first.
        var listed: [ItemListing.Line] = []
        /// Whether ``listed`` contains all of them.
        var isWhole = true
        /// The reason why they cannot be listed; nil if they can.
        var failure: String?
    }

    typealias Amount = ContainerSurvey.Amount

    /// The space by kind; no file is counted twice, except in ``quarantined``, which is part of the others.
    struct Storage: Sendable, Codable, Equatable {
        /// The items of the user.
        var documents = Amount()
        var logs = Amount()
        /// Large values.
        var values = Amount()
        var baselines = Amount()
        var receipts = Amount()
        /// Attachment marks and marks of epochs.
        var marks = Amount()
        /// Files that are being written: `tmp.nosync` of stores.
        var temporary = Amount()
        /// Other entries below `CoreData`: ended epochs, other programs' files.
        var other = Amount()
        /// Files that stores of this device cannot use.
        var quarantined = Amount()
        /// The SQLite files of this device's stores, with the files beside them.
        var local = Amount()

        /// The parts of the container with their names, in a stable order; no byte is in two of them.
        var kinds: [(name: String, amount: Amount)] {
            [
                ("documents", documents), ("logs", logs), ("large values", values), ("baselines", baselines), ("receipts", receipts),
                ("marks", marks), ("being written", temporary), ("other", other),
            ]
        }

        /// The bytes of the container.
        var bytes: Int64 { kinds.reduce(0) { $0 + $1.amount.bytes } }
    }

    /// The space where the container lies.
    struct Space: Sendable, Codable, Equatable {
        /// The bytes that can still be written, within the user's quota; nil if unknown.
        var free: Int64?
        /// The size in bytes of the file system; nil if unknown.
        var capacity: Int64?
        /// The mark of `config.json`: the bytes above which an account's containers take too much space; nil for none.
        var mark: Int64?
    }

    /// Whether nothing more can be written, or the container alone takes more than the mark.
    var isOverMark: Bool { space.free.map { $0 < ContainerStorage.least } ?? false || space.mark.map { storage.bytes >= $0 } ?? false }

    /// The problems, in a limited list.
    struct Troubles: Sendable, Codable, Equatable {
        /// The number of problems of each kind.
        var counts: [String: Int] = [:]
        /// Some of them, by kind.
        var listed: [Trouble] = []
        /// Whether ``listed`` contains all of them.
        var isWhole = true
        /// The stores that could not be inspected.
        var failures: [Failure] = []
    }

    /// An entry that could not be inspected.
    struct Failure: Sendable, Codable, Equatable {
        /// The path of a store or another entry.
        var path: String
        /// The reason in words.
        var reason: String

        /// The reason with its subject.
        var text: String { reason.contains(path) ? reason : "\(path): \(reason)" }
    }

    /// A problem that needs attention.
    struct Trouble: Sendable, Codable, Equatable {
        enum Kind: String, Sendable, Codable, CaseIterable {
            /// An unresolved copy of an item that lost against another device's (`*.sync-conflict-*`).
            case copy
            /// A value of a record that lost against another device's.
            case conflict
            /// A record that is hidden because a record it refers to is hidden.
            case held
            /// A file that a store cannot use.
            case quarantined
            /// Data that a store set aside at the end of an epoch or an account.
            case kept
        }

        var kind: Kind
        /// A path, or a table and key, or a peer's file.
        var subject: String
        /// The reason in words.
        var reason: String
        /// The time since when it exists; nil if unknown.
        var since: Date?
        /// The content name of its store; nil for items.
        var store: String?
        /// The peer that wrote it, if known.
        var peer: String?
        /// The command that shows or mends it.
        var remedy: String
    }
}

/// The activity of an account on this device, according to files; the first case that applies.
///
/// - ``signedOut``: no account is signed in at the device home, or another account than the container's.
/// - ``settingUp``: this device has not attached to the container yet, or a store of this device uses its fallback
///   file, or has not read its content once.
/// - ``suspended``: the container or a store's content in it is gone or another than before, or a store is paused.
/// - ``stuck``: a store waits for something that does not come by itself: a damaged file, or a newer version of the app.
/// - ``waitingForNetwork``: the transport does not answer, or something is to go out or come in and no other device is
///   connected.
/// - ``uploading``: a store of this device has unpublished logs, changes in no log, or logs that have not left this device, or an item
///   waits for its upload.
/// - ``downloading``: a file names a log that has not arrived, a store of this device has not joined a log in the
///   container, or an item is not here in its newest version.
/// - ``idle``: none of these, as far as this device knows.
enum AccountState: String, Sendable, Codable {
    case signedOut, settingUp, suspended, stuck, waitingForNetwork, uploading, downloading, idle
}

extension WatchFacts {
    /// Takes the free space of another moment, if the two differ by less than a hundredth and no mark lies between them.
    mutating func keepSpace(of other: Self) {
        guard let free = space.free, let before = other.space.free, abs(free - before) < before / 100 else { return }
        var kept = self
        kept.space.free = before
        if kept.isOverMark == isOverMark { self = kept }
    }
}
