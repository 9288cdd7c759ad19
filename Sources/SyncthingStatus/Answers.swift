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
    /// Whether the device is known not to share the folder any more, or not yet.
    package var isNotSharing: Bool

    private enum CodingKeys: String, CodingKey { case needItems, needDeletes, remoteState }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let items: Int? = values.lenient(.needItems, Int?.none)
        needed = items.map { $0 + values.lenient(.needDeletes, 0) }
        isNotSharing = values.lenient(.remoteState, "") == "notSharing"
    }
}

/// A page of `/rest/db/need` or `/rest/db/remoteneed`.
package struct NeedPage: Decodable, Sendable {
    package var progress: [String]
    package var waiting: [String]

    private enum CodingKeys: String, CodingKey { case progress, queued, rest, files }
    private struct File: Decodable { var name: String }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        progress = values.lenient(.progress, list: File.self).map(\.name)
        waiting = [CodingKeys.queued, .rest, .files].flatMap { values.lenient($0, list: File.self) }.map(\.name)
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
    package var id: Int
    package var type: String
    package var folder: String
    package var item: String?
    package var filenames: [String]
    package var to: String

    private enum CodingKeys: String, CodingKey { case id, type, data }
    private enum DataKeys: String, CodingKey { case folder, item, filenames, to, state }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(Int.self, forKey: .id)
        type = values.lenient(.type, "")
        let data = try? values.nestedContainer(keyedBy: DataKeys.self, forKey: .data)
        folder = data?.lenient(.folder, "") ?? ""
        item = data?.lenient(.item, String?.none)
        // For an event about another device's downloads, the keys are the names.
        let fetched = data?.lenient(.state, [String: Int]()).keys.sorted() ?? []
        filenames = (data?.lenient(.filenames, list: String.self) ?? []) + fetched
        to = data?.lenient(.to, "") ?? ""
    }
}
