internal import Foundation
package import SystemPackage

extension ContainerWipe {
    private static let remainsPrefix = ".\(UbiquityContainer.storesName)."

    /// Returns a new directory to which a wipe moves the contents of a container's stores before it deletes them;
    /// synchronisers and stores ignore it.
    static func newRemains(in container: FilePath) -> FilePath {
        container.appending("\(remainsPrefix)\(UUID().uuidString)\(ItemPath.excludedSuffix)")
    }

    /// Returns the store contents that running or interrupted wipes have not deleted yet.
    ///
    /// - Parameter container: the container's directory.
    /// - Returns: the directories; none if the container cannot be listed.
    package static func remains(in container: FilePath) -> [FilePath] {
        let names = (try? LinuxFileLayer().names(in: container)) ?? []
        return names.filter { $0.hasPrefix(remainsPrefix) && $0.hasSuffix(ItemPath.excludedSuffix) }.sorted().map { container.appending($0) }
    }
}
