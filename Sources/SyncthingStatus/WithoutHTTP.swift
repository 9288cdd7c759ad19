#if !Syncthing
    internal import SystemPackage

    // Without the trait `Syncthing` the package has no HTTP client: every question fails with an error that says so.

    /// Stands for the HTTP client.
    enum HTTPConnection {
        static func send(_ request: HTTPRequest, pin: CertificatePin?, limit: Int) async throws -> (status: Int, bytes: [UInt8]) {
            throw SyncthingError.notIncluded
        }

        static func isDistrust(_ error: any Error) -> Bool { false }
    }

    /// Stands for a certificate; no value of it exists.
    struct CertificatePin: Sendable, Hashable {
        init(_ file: FilePath) throws(SyncthingError) { throw SyncthingError.notIncluded }
    }

    extension SyncthingError {
        fileprivate static let notIncluded = SyncthingError(
            .notIncluded,
            "This program was built without a client for Syncthing; build the package with `swift build --traits Syncthing`, or depend on it with traits: [\"Syncthing\"]."
        )
    }
#endif
