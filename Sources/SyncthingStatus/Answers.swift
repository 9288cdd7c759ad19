package import Foundation

// Syncthing's answers (https://docs.syncthing.net/dev/rest.html), reduced to the parts that are used. Missing or
// unknown fields, and fields of another type, are no error, because the interface grows with each version.

extension KeyedDecodingContainer {
    func lenient<Value: Decodable>(_ key: Key, _ fallback: Value) -> Value {
        ((try? decodeIfPresent(Value.self, forKey: key)) ?? nil) ?? fallback
    }

    func lenient<Value: Decodable>(_ key: Key, list: Value.Type = Value.self) -> [Value] {
        lenient(key, [Lossy<Value>]()).compactMap(\.value)
    }
}

/// An element of a list that may contain unexpected elements.
struct Lossy<Value: Decodable>: Decodable {
    var value: Value?

    init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
}

extension Lossy: Sendable where Value: Sendable {}

/// The answer of `/rest/system/status`.
package struct SystemStatus: Decodable, Sendable {
    package var device = ""
    package var tilde = ""

    private enum CodingKeys: String, CodingKey { case device = "myID", tilde }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        device = values.lenient(.device, "")
        tilde = values.lenient(.tilde, "")
    }
}

/// An element of `/rest/config/folders`.
package struct FolderConfiguration: Decodable, Sendable {
    package var id: String
    /// The folder's name for people.
    package var label: String
    package var path: String
    package var isPaused: Bool
    package var devices: [String]
    /// The folder's type: `sendreceive`, `sendonly`, `receiveonly` or `receiveencrypted`.
    package var type: String
    /// The number of conflict copies kept for an item; -1 for all, nil if unknown.
    package var maxConflicts: Int?
    package var isWatched: Bool

    private enum CodingKeys: String, CodingKey {
        case id, label, path, isPaused = "paused", devices, type, maxConflicts, isWatched = "fsWatcherEnabled"
    }
    private struct Member: Decodable { var deviceID: String }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        label = values.lenient(.label, "")
        path = try values.decode(String.self, forKey: .path)
        isPaused = values.lenient(.isPaused, false)
        devices = values.lenient(.devices, list: Member.self).map(\.deviceID)
        type = values.lenient(.type, "sendreceive")
        maxConflicts = values.lenient(.maxConflicts, Int?.none)
        isWatched = values.lenient(.isWatched, true)
    }
}

/// An element of `/rest/config/devices`.
package struct DeviceConfiguration: Decodable, Sendable {
    package var id: String
    package var name: String
    package var isPaused: Bool

    private enum CodingKeys: String, CodingKey { case id = "deviceID", name, isPaused = "paused" }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        name = values.lenient(.name, "")
        isPaused = values.lenient(.isPaused, false)
    }
}

/// A page of `/rest/folder/errors`.
package struct FolderErrors: Decodable, Sendable {
    package struct Item: Decodable, Sendable, Hashable {
        /// The path relative to the folder.
        package var path: String
        package var error: String
    }

    package var items: [Item]

    private enum CodingKeys: String, CodingKey { case errors }

    package init(from decoder: any Decoder) throws {
        items = try decoder.container(keyedBy: CodingKeys.self).lenient(.errors, list: Item.self)
    }
}

/// The answer of `/rest/system/version`.
package struct SystemVersion: Decodable, Sendable {
    /// The version, such as `v1.19.2`.
    package var version: String

    private enum CodingKeys: String, CodingKey { case version }

    package init(from decoder: any Decoder) throws {
        version = try decoder.container(keyedBy: CodingKeys.self).lenient(.version, "")
    }
}

/// The answer of `/rest/system/connections`.
package struct Connections: Decodable, Sendable {
    package var connected: Set<String>

    private enum CodingKeys: String, CodingKey { case connections }
    private struct Connection: Decodable { var connected: Bool? }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let all = values.lenient(.connections, [String: Lossy<Connection>]())
        connected = Set(all.filter { $0.value.value?.connected == true }.keys)
    }
}

/// The answer of `/rest/db/status`.
package struct FolderState: Decodable, Sendable {
    package var state: String
    package var error: String

    private enum CodingKeys: String, CodingKey { case state, error }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        state = values.lenient(.state, "")
        error = values.lenient(.error, "")
    }
}

/// An index's entry for an item.
package struct IndexEntry: Decodable, Sendable {
    package var isDeleted = false
    package var isIgnored = false
    package var isInvalid = false
    package var modified = ""
    package var modifiedBy = ""
    package var size: Int64 = 0
    package var type = ""
    package var version: [String] = []

    private enum CodingKeys: String, CodingKey {
        case isDeleted = "deleted", isIgnored = "ignored", isInvalid = "invalid", modified, modifiedBy, size, type, version
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        isDeleted = values.lenient(.isDeleted, false)
        isIgnored = values.lenient(.isIgnored, false)
        isInvalid = values.lenient(.isInvalid, false)
        modified = values.lenient(.modified, "")
        modifiedBy = values.lenient(.modifiedBy, "")
        size = values.lenient(.size, 0)
        type = values.lenient(.type, "")
        version = values.lenient(.version, [])
    }

    package init() {}

    /// Whether the index lacks the item; Syncthing then sends an empty entry.
    package var isAbsent: Bool { version.isEmpty }
    /// Whether it is a directory.
    package var isDirectory: Bool { type.hasSuffix("DIRECTORY") || type == "1" }
}

/// The answer of `/rest/db/file`.
package struct FileAnswer: Decodable, Sendable {
    package var global: IndexEntry?
    package var local: IndexEntry?
    /// Connected devices that have the complete newest version.
    package var holders: [String]
    /// The time of change on a disk that cannot store Syncthing's time.
    package var diskTime: String?

    private enum CodingKeys: String, CodingKey { case global, local, availability, mtime }
    private struct Holder: Decodable {
        var id: String
        var fromTemporary: Bool?
    }
    private struct Time: Decodable {
        struct Value: Decodable { var real: String? }
        var value: Value?
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        global = values.lenient(.global, IndexEntry?.none)
        local = values.lenient(.local, IndexEntry?.none)
        holders = values.lenient(.availability, list: Holder.self).filter { $0.fromTemporary != true }.map(\.id)
        diskTime = values.lenient(.mtime, Time?.none)?.value?.real.flatMap { $0.hasPrefix("0001-") ? nil : $0 }
    }
}

/// The answer of `/rest/db/completion`.
package struct Completion: Decodable, Sendable {
    /// The number of items and removals that the device lacks; nil if unknown.
    package var needed: Int?
    /// The bytes that it lacks.
    package var neededBytes: Int64?
    /// The part of all bytes that it has, in percent.
    package var percentage: Double?
    /// Whether the device is known not to share the folder any more, or not yet.
    package var isNotSharing: Bool

    private enum CodingKeys: String, CodingKey { case needItems, needDeletes, needBytes, completion, remoteState }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let items: Int? = values.lenient(.needItems, Int?.none)
        needed = items.map { $0 + values.lenient(.needDeletes, 0) }
        neededBytes = values.lenient(.needBytes, Int64?.none)
        percentage = values.lenient(.completion, Double?.none)
        isNotSharing = values.lenient(.remoteState, "") == "notSharing"
    }
}

/// A page of `/rest/db/need` or `/rest/db/remoteneed`.
package struct NeedPage: Decodable, Sendable {
    /// The newest version of an item.
    package struct File: Decodable, Sendable {
        package var name: String
        package var size: Int64
        package var isDirectory: Bool
        package var isDeleted: Bool

        private enum CodingKeys: String, CodingKey { case name, size, type, deleted }

        package init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            name = try values.decode(String.self, forKey: .name)
            size = values.lenient(.size, 0)
            isDirectory = values.lenient(.type, "").hasSuffix("DIRECTORY")
            isDeleted = values.lenient(.deleted, false)
        }
    }

    package var progress: [File]
    package var waiting: [File]

    private enum CodingKeys: String, CodingKey { case progress, queued, rest, files }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        progress = values.lenient(.progress, list: File.self)
        waiting = [CodingKeys.queued, .rest, .files].flatMap { values.lenient($0, list: File.self) }
    }
}

/// An element of `/rest/stats/device`.
package struct DeviceStatistics: Decodable, Sendable {
    /// When the device was connected last; nil if never.
    package var lastSeen: Date?

    private enum CodingKeys: String, CodingKey { case lastSeen }

    package init(from decoder: any Decoder) throws {
        let text = try decoder.container(keyedBy: CodingKeys.self).lenient(.lastSeen, "")
        lastSeen = Timestamp(text).flatMap { $0.seconds > 0 ? Date(timeIntervalSince1970: Double($0.seconds)) : nil }
    }
}

/// The answer of `/rest/db/ignores`.
package struct Ignores: Decodable, Sendable {
    /// The patterns in the order of their use, with `#include` resolved.
    package var expanded: [String]

    private enum CodingKeys: String, CodingKey { case expanded }

    package init(from decoder: any Decoder) throws {
        expanded = try decoder.container(keyedBy: CodingKeys.self).lenient(.expanded, list: String.self)
    }
}

/// An element of `/rest/events`.
package struct SyncthingEvent: Decodable, Sendable {
    /// The progress of one of this device's downloads.
    package struct Download: Decodable, Sendable {
        package var done: Int64
        package var total: Int64

        private enum CodingKeys: String, CodingKey { case done = "bytesDone", total = "bytesTotal" }

        package init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            done = values.lenient(.done, 0)
            total = values.lenient(.total, 0)
        }
    }

    package var id: Int
    package var type: String
    package var folder: String
    package var device: String
    package var item: String?
    package var filenames: [String]
    package var to: String
    /// The number of blocks that another device has of the files that it is fetching, by name.
    package var blocks: [String: Int64]
    /// The downloads of this device, by folder and name.
    package var downloads: [String: [String: Download]]

    private enum CodingKeys: String, CodingKey { case id, type, data }
    private enum DataKeys: String, CodingKey { case folder, device, item, filenames, to, state }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(Int.self, forKey: .id)
        type = values.lenient(.type, "")
        let data = try? values.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
        folder = data?.lenient(.folder, "") ?? ""
        device = data?.lenient(.device, "") ?? ""
        item = data?.lenient(.item, String?.none)
        blocks = type == "RemoteDownloadProgress" ? data?.lenient(.state, [:]) ?? [:] : [:]
        downloads =
            type == "DownloadProgress"
            ? values.lenient(.data, [String: [String: Lossy<Download>]]()).mapValues { $0.compactMapValues(\.value) } : [:]
        filenames =
            (data?.lenient(.filenames, list: String.self) ?? []) + blocks.keys.sorted() + downloads.values.flatMap { $0.keys.sorted() }
        to = data?.lenient(.to, "") ?? ""
    }
}
