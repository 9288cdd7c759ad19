package import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// The keys that a device home has for all containers: files below `scopes` of the device home.
package struct HomeKeys: Sendable {
    /// What a key is for.
    package enum Purpose: String, Sendable {
        /// Beginning a term in place of an owner who has named the key.
        case heir
        /// Admitting accounts to containers whose policy names the key.
        case registrar
    }

    private let directory: FilePath

    package init(_ home: DeviceHome) { directory = Self.directory(of: home) }

    static func directory(of home: DeviceHome) -> FilePath { home.path.appending("scopes") }

    private func file(_ purpose: Purpose) -> FilePath { directory.appending("\(purpose.rawValue).key") }

    /// Returns a private key; nil if it was never made.
    ///
    /// - Throws: `UbiquitousStoreError` with `malformed` or `fileSystem`.
    package func key(_ purpose: Purpose) throws(UbiquitousStoreError) -> PrivateKey? { try KeyFile.key(in: file(purpose)) }

    /// Returns a public key, and makes the key at the first use.
    ///
    /// - Throws: `UbiquitousStoreError` with `malformed` or `fileSystem`.
    package func publicKey(_ purpose: Purpose) throws(UbiquitousStoreError) -> PublicKey {
        if let key = try key(purpose) { return key.publicKey }
        let key = PrivateKey()
        try KeyFile.write(key, to: file(purpose))
        return key.publicKey
    }
}
