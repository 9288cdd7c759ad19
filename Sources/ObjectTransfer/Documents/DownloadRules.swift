package import UbiquityContainers

/// Which documents a device keeps, as its user has said.
package struct DownloadRules: Hashable, Sendable {
    /// The policies of containers; others have `everything`.
    package var policies: [String: DownloadPolicy] = [:]
    /// The documents and directories that stay here, by their paths below the account's containers.
    package var pinned: Set<String> = []

    package init(policies: [String: DownloadPolicy] = [:], pinned: Set<String> = []) { (self.policies, self.pinned) = (policies, pinned) }

    /// Reads the rules from a device home's configuration.
    package init(_ configuration: DownloadConfiguration) {
        policies = configuration.policies ?? [:]
        for (container, items) in configuration.pinned ?? [:] {
            for item in items { pinned.insert(item.isEmpty ? container : "\(container)/\(item)") }
        }
    }

    /// Whether a document, or a directory above it, is pinned.
    package func isPinned(_ path: DocumentPath) -> Bool {
        guard !pinned.isEmpty else { return false }
        var place = path.description[...]
        while true {
            if pinned.contains(String(place)) { return true }
            guard let end = place.lastIndex(of: "/") else { return false }
            place = place[..<end]
        }
    }

    /// Whether the bytes of a document of this size are fetched though nobody has asked for them.
    func fetches(_ path: DocumentPath, size: Int64, isEvicted: Bool) -> Bool {
        if isPinned(path) { return true }
        guard !isEvicted else { return false }
        return switch policies[path.container] ?? .everything {
        case .everything: true
        case .onDemand: false
        case .everythingBelow(let bytes): size < bytes
        }
    }
}
