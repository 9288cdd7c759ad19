package import Foundation
internal import StoreExchange
internal import SystemPackage
package import UbiquityContainers
internal import UbiquityStores

/// Where a key-value store lies, and when it saves.
package struct KeyValueOptions: Sendable {
    /// The container; nil for the first declared one.
    package var container: String?
    /// The device home; nil for the user's own.
    package var home: DeviceHome?
    /// How long changes are collected for one save.
    package var delay: Duration = .milliseconds(200)
    /// The clock of the delay and of pauses after failures.
    package var clock: any Clock<Duration> = ContinuousClock()
    /// The time of day, for stamps.
    package var now: @Sendable () -> Date = { Date() }
    /// Whether the store exchanges by itself, or only in `synchronize()`.
    package var exchangesAutomatically = true
    /// The file operations.
    package var files: any FileLayer = LinuxFileLayer()

    /// Makes options.
    package init(container: String? = nil, home: DeviceHome? = nil) {
        self.container = container
        self.home = home
    }

    /// The name of the content in the container.
    package static let contentName = "UbiquitousKeyValues"
    private static let longestPause = Duration.seconds(60)

    /// Returns how long to wait after a number of failures in a row.
    func pause(after failures: Int) -> Duration { min(max(delay, .milliseconds(10)) * (1 << min(failures, 20)), Self.longestPause) }

    /// Opens the store that follows the account.
    ///
    /// - Throws: `UbiquitousStoreError`; `ContainerError` if the device home cannot be read, or no container is named.
    func open() async throws -> UbiquitousStore {
        let home = try home ?? .standard()
        let identifier = try UbiquityContainer.identifier(container, in: home)
        let directory = home.path.appending("keyvalues")
        try await blocking { try Self.makeDirectory(directory) }
        return try await UbiquitousStore.open(
            at: directory.appending("\(identifier).sqlite"),
            options: UbiquitousStore.Options(contentName: Self.contentName, exchangesAutomatically: exchangesAutomatically),
            container: identifier.description, home: home, schema: SyncedSchema(), now: now, files: files)
    }

    private static func makeDirectory(_ directory: FilePath) throws(UbiquitousStoreError) {
        do {
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        } catch {
            throw UbiquitousStoreError(
                .fileSystem,
                "The directory of key-value stores \(directory) cannot be created; remove what is in its place, or check its parent's owner, mode and free space.",
                path: directory, cause: error)
        }
    }
}
