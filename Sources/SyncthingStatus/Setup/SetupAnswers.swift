// Syncthing's answers and requests that only the setup uses (https://docs.syncthing.net/dev/rest.html).

/// An element of `/rest/cluster/pending/devices`.
package struct PendingDevice: Decodable, Sendable {
    package var id = ""
    package var name: String
    /// The host and port that it connected from; Syncthing connects from the port at which it listens.
    package var address: String

    private enum CodingKeys: String, CodingKey { case name, address }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = values.lenient(.name, "")
        address = values.lenient(.address, "")
    }
}

/// An element of `/rest/cluster/pending/folders`.
struct PendingFolder: Decodable, Sendable {
    /// The labels that devices give the folder, by their identifiers.
    var labels: [String: String]

    private enum CodingKeys: String, CodingKey { case offeredBy }
    private struct Offer: Decodable { var label: String? }

    init(from decoder: any Decoder) throws {
        let offers = try decoder.container(keyedBy: CodingKeys.self).lenient(.offeredBy, [String: Lossy<Offer>]())
        labels = offers.compactMapValues { $0.value.map { $0.label ?? "" } }
    }
}

/// The listeners in the answer of `/rest/system/status`.
struct Listeners: Decodable, Sendable {
    var addresses: [String]

    private enum CodingKeys: String, CodingKey { case connectionServiceStatus }
    private struct Listener: Decodable { var lanAddresses: [String]? }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: CodingKeys.self).lenient(.connectionServiceStatus, [String: Lossy<Listener>]())
        let known = Set(all.values.flatMap { $0.value?.lanAddresses ?? [] })
        addresses = known.filter { $0.hasPrefix("tcp") && !$0.contains("0.0.0.0") && !$0.contains("[::]") }.sorted()
    }
}

/// A folder to add.
package struct NewFolder: Encodable, Sendable, Hashable {
    package struct Member: Encodable, Sendable, Hashable {
        package var deviceID: String

        package init(_ device: String) { deviceID = device }
    }

    package var id: String
    package var label: String
    package var path: String
    package var type = "sendreceive"
    /// Changes leave the device a second after they are made: logs are written once, and never again.
    package var fsWatcherEnabled = true
    package var fsWatcherDelayS = 1
    /// Every version of a document that loses a conflict is kept.
    package var maxConflicts = -1
    package var devices: [Member]

    package init(id: String, label: String, path: String, devices: [String]) {
        self.id = id
        self.label = label
        self.path = path
        self.devices = devices.map(Member.init)
    }
}

/// A device to add.
package struct NewDevice: Encodable, Sendable, Hashable {
    package var deviceID: String
    package var name: String
    package var addresses: [String]

    package init(id: String, name: String, addresses: [String]) {
        deviceID = id
        self.name = name
        self.addresses = addresses
    }
}

/// A change of a folder; nil keeps what is there.
package struct FolderChange: Encodable, Sendable {
    package var label: String?
    package var devices: [NewFolder.Member]?
    package var paused: Bool?

    package init(label: String? = nil, devices: [String]? = nil, paused: Bool? = nil) {
        self.label = label
        self.devices = devices?.map(NewFolder.Member.init)
        self.paused = paused
    }
}

/// A change of a device; nil keeps what is there.
package struct DeviceChange: Encodable, Sendable {
    package var name: String?
    package var addresses: [String]?
    package var paused: Bool?

    package init(name: String? = nil, addresses: [String]? = nil, paused: Bool? = nil) {
        self.name = name
        self.addresses = addresses
        self.paused = paused
    }
}
