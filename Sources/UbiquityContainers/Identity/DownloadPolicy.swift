/// Which documents a device fetches although nobody has opened them.
public enum DownloadPolicy: Hashable, Sendable, CustomStringConvertible {
    /// All of them, as soon as the cloud has them.
    case everything
    /// None: a document is fetched when somebody opens or asks for it.
    case onDemand
    /// The documents that have fewer bytes than this.
    case everythingBelow(bytes: Int64)

    /// `everything`, `on-demand`, or `below` with a number of bytes.
    public var description: String {
        switch self {
        case .everything: "everything"
        case .onDemand: "on-demand"
        case .everythingBelow(let bytes): "below \(bytes) bytes"
        }
    }
}

/// A policy is coded as `"everything"`, `"onDemand"`, or `{"everythingBelow": bytes}`.
extension DownloadPolicy: Codable {
    private struct Below: Codable {
        var everythingBelow: Int64
    }

    /// Reads a policy.
    ///
    /// - Parameter decoder: the decoder.
    /// - Throws: `DecodingError` for anything else.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let below = try? container.decode(Below.self), below.everythingBelow >= 0 {
            self = .everythingBelow(bytes: below.everythingBelow)
            return
        }
        switch try container.decode(String.self) {
        case "everything": self = .everything
        case "onDemand": self = .onDemand
        case let text: throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text.debugDescription) is no policy.")
        }
    }

    /// Writes the policy.
    ///
    /// - Parameter encoder: the encoder.
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .everything: try container.encode("everything")
        case .onDemand: try container.encode("onDemand")
        case .everythingBelow(let bytes): try container.encode(Below(everythingBelow: bytes))
        }
    }
}

/// The member `downloads` of `config.json`: which documents this device keeps.
package struct DownloadConfiguration: Codable, Sendable, Hashable {
    /// The policies of containers, by identifier; others have `everything`.
    package var policies: [String: DownloadPolicy]?
    /// The items that stay on this device, by container; paths below the container.
    package var pinned: [String: [String]]?
    /// Extensions of directories that are file packages, beside the usual ones.
    package var packages: [String]?
    /// The free bytes below which documents are evicted, least recently used first; nil for never.
    package var evictBelow: Int64?

    package init() {}

    /// The file, reduced to this part.
    struct File: Decodable, HomeFormat {
        var format: Int
        var downloads: DownloadConfiguration?

        static var remedy: String {
            #"it takes "downloads": {"policies": {"org.example.notes": "onDemand"}, "pinned": {"org.example.notes": ["Documents/Plan.txt"]}}; correct it, or remove the member"#
        }
    }
}

extension DeviceHome {
    /// Which documents this device keeps.
    ///
    /// - Throws: `ContainerError` when the file cannot be read, or this part cannot be understood.
    package var downloads: DownloadConfiguration {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(DownloadConfiguration.File.self, from: files.configurationFile)?.downloads ?? DownloadConfiguration()
        }
    }
}
