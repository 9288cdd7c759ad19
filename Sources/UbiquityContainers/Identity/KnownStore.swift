internal import Foundation
package import SystemPackage

/// `stores/<number>.json` of the device home: the place where an app of this device keeps a store of a container's
/// content.
///
/// Tools use it to find the stores of a container; nothing else depends on it. A store writes it at opening if no such
/// file exists, and opens even if the write fails. Each file is replaced as a whole (temporary file, fsync, rename,
/// fsync of the directory): a crash leaves no file, the old one, or a temporary file beside it that no program reads,
/// and the next opening writes the file again. No program removes it automatically: if the store is gone, tools report
/// that.
package struct KnownStore: Codable, Sendable, Hashable, HomeFormat {
    var format = HomeFormatVersion.current
    /// The absolute path of the store, chosen by the app.
    package var path: String
    /// The content name.
    package var content: String
    /// The container's identifier.
    package var container: String

    package init(path: FilePath, content: String, container: ContainerIdentifier) {
        self.path = path.string
        self.content = content
        self.container = container.description
    }

    /// Returns the stores that a text names.
    ///
    /// - Parameters:
    ///   - text: a path, or the content name of a store that this device's apps have opened.
    ///   - home: the device home; nil if there is none.
    /// - Returns: the paths that the apps gave the stores; the text as a path if it is not the name of a known store.
    package static func paths(named text: String, in home: DeviceHome?) -> [FilePath] {
        let path = FilePath(text)
        guard !text.isEmpty, !text.contains("/"), PathFacts(at: path).kind == .nothing, let home else { return [path] }
        let named = Set(home.knownStores.filter { $0.content == text }.map(\.path)).sorted().map { FilePath($0) }
        return named.isEmpty ? [path] : named
    }

    static var remedy: String { "remove it, and open the app once" }

    /// The name of the file for this store.
    fileprivate var fileName: String {
        // FNV-1a, 64 bits: equal in every process, and collisions among the few stores of a device are very unlikely.
        let hash = [path, content, container].joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + ".json"
    }
}

extension DeviceHome {
    private var storesDirectory: FilePath { path.appending("stores") }

    /// The stores that have been opened on this device, by path; unreadable files are left out.
    package var knownStores: [KnownStore] {
        let files = HomeFiles(home: self)
        let names = (try? files.files.names(in: storesDirectory)) ?? []
        let found = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.compactMap { name in
            try? files.read(KnownStore.self, from: storesDirectory.appending(name))
        }
        return found.sorted { ($0.path, $0.content, $0.container) < ($1.path, $1.content, $1.container) }
    }

    /// Records a store unless it is known; does not create a missing home, and ignores errors.
    ///
    /// - Parameter store: the store.
    package func note(_ store: KnownStore) {
        let files = HomeFiles(home: self)
        let file = storesDirectory.appending(store.fileName)
        if let known = try? files.read(KnownStore.self, from: file), known == store { return }
        guard (try? files.files.makeDirectory(storesDirectory)) != nil else { return }
        try? files.write(store, to: file)
    }
}
