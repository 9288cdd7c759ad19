import Foundation
import StoreInspection
import UbiquityContainers
import UbiquityStores

/// What a person needs who asks why a change has not arrived: a container, its stores and peers, this device's part in it, and its items, at one moment.
///
/// It is the object that `ubwatch status --json` prints. Times are instants, never ages, so that two values are equal while nothing but time has passed; ``time`` alone says when it was read.
struct WatchFacts: Sendable, Codable, Equatable {
    /// When the container was looked at.
    var time: Date
    /// The container's directory, absolute.
    var path: String
    /// The account, from the path.
    var account: String
    /// The container's identifier, from the path.
    var container: String
    /// Whether the container is there.
    var presence: Presence
    /// The peers that have left an attachment mark, by name.
    var attached: [String] = []
    /// What this device's home says of the account and the container.
    var device: Device
    /// What the account is doing on this device.
    var state: AccountState
    /// Why the state is what it is, and what stands in the way of changes: a sentence each, the most important first.
    var reasons: [String] = []
    /// The stores' contents in the container, by name, with their peers.
    var stores: [ContainerSurvey.Store] = []
    /// The stores of this device that belong to the container.
    var localStores: [LocalStore] = []
    /// What takes how much space.
    var storage = Storage()
    /// The documents and what else the user sees.
    var items = Items()
    /// What is held, quarantined or in conflict.
    var troubles = Troubles()

    /// Whether a container is there.
    enum Presence: String, Sendable, Codable {
        /// It is there; where this device is attached, with this device's mark.
        case there
        /// It is there without the mark that this device has left in it: it has been wiped, or made anew, or is arriving again.
        case unmarked
        /// It is there, and it is another directory than the one that the same reader saw before.
        case replaced
        /// Its directory is gone, or is none.
        case gone
    }

    /// What the device home knows.
    struct Device: Sendable, Codable, Equatable {
        /// The device home; nil where there is none.
        var home: String?
        /// The account that is signed in on this device; nil while nobody is.
        var signedIn: String?
        /// This device's peer in the container; nil where it has not used it.
        var peer: String?
        /// Whether this device has left its mark in the container once.
        var wasAttached = false
        /// Why this device does not exchange in the container, such as a mark that is gone; nil where it may.
        var detached: String?
        /// Why the home cannot be read; nil where it can.
        var failure: String?
    }

    /// How the items stand towards the user's other devices.
    struct Items: Sendable, Codable, Equatable {
        /// How many there are, but for stores and marks.
        var count = 0
        /// How many have which status.
        var byStatus: [String: Int] = [:]
        /// Who tells the statuses: `syncthing`, or `local` where nobody is asked.
        var source = "local"
        /// Some of them, by path, as many as the reader was asked for: first those that are neither current, excluded nor unknown.
        var listed: [ItemListing.Line] = []
        /// Whether ``listed`` holds them all.
        var isWhole = true
        /// Why they cannot be listed; nil where they can.
        var failure: String?
    }

    typealias Amount = ContainerSurvey.Amount

    /// Space by kind; nothing is counted twice, but ``quarantined``, which is part of the others.
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
        /// What is being written: `tmp.nosync` of stores.
        var temporary = Amount()
        /// What lies below `CoreData` and is none of these: ended epochs, other programs' files.
        var other = Amount()
        /// Files that stores of this device cannot use.
        var quarantined = Amount()
        /// The SQLite files of this device's stores, with what lies beside them.
        var local = Amount()
    }

    /// What does not go as it should, a list of which is bounded.
    struct Troubles: Sendable, Codable, Equatable {
        /// How many there are of a kind.
        var counts: [String: Int] = [:]
        /// Some of them, by kind.
        var listed: [Trouble] = []
        /// Whether ``listed`` holds them all.
        var isWhole = true
        /// The stores in which nobody could look for any.
        var failures: [Failure] = []
    }

    /// What could not be looked at.
    struct Failure: Sendable, Codable, Equatable {
        /// A store, or what else it is.
        var path: String
        /// Why, in words.
        var reason: String

        /// The reason, and what it is about.
        var text: String { reason.contains(path) ? reason : "\(path): \(reason)" }
    }

    /// One thing that needs somebody's attention.
    struct Trouble: Sendable, Codable, Equatable {
        enum Kind: String, Sendable, Codable, CaseIterable {
            /// A copy of an item that lost against another device's (`*.sync-conflict-*`), and nobody has resolved.
            case copy
            /// A value of a record that lost against another device's.
            case conflict
            /// A record that is not shown, since what it refers to is not.
            case held
            /// A file that a store cannot use.
            case quarantined
            /// What a store set aside at the end of an epoch or an account.
            case kept
        }

        var kind: Kind
        /// A path, or a table and key, or a peer's file.
        var subject: String
        /// Why, in words.
        var reason: String
        /// Since when; nil where nothing tells.
        var since: Date?
        /// The content name of the store that it is about; nil of items.
        var store: String?
        /// The peer that wrote it, as far as is known.
        var peer: String?
    }
}

/// What an account is doing on this device, as far as files tell; the first that holds.
///
/// - ``signedOut``: nobody is signed in at the device home, or another account than the container's.
/// - ``settingUp``: this device has not attached to the container yet, or a store of this device is in its fallback file, or has not read once what its content held.
/// - ``uploading``: a store of this device has logs, or changes in no log, that have not gone out, or an item waits to go out.
/// - ``downloading``: something names a log that has not arrived, a log lies in the container that a store of this device has not taken in, or an item is not here in its newest version.
/// - ``idle``: none of these, as far as anything here tells.
enum AccountState: String, Sendable, Codable {
    case signedOut, settingUp, idle, uploading, downloading
}
