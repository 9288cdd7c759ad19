public import Foundation
internal import SystemPackage

extension UbiquityContainer {
    /// Finds the container of the signed-in account in which a URL lies.
    ///
    /// Nothing is created: a directory below the containers root that this device has not used as a container is none.
    ///
    /// - Parameters:
    ///   - url: a file URL; nothing need be there.
    ///   - home: the device home; by default the user's.
    /// - Returns: nil if the URL lies in no container of the signed-in account, or nobody is signed in.
    /// - Throws: `ContainerError` when the files of the home cannot be read, or the container cannot be used.
    public static func containing(_ url: URL, home: DeviceHome? = nil) async throws(ContainerError) -> UbiquityContainer? {
        guard url.isFileURL else { return nil }
        let place: DeviceHome
        if let home { place = home } else { place = try DeviceHome.standard() }
        guard let (account, record) = try place.signedIn else { return nil }
        let directory = place.root(of: record).appending(account.description)
        let item = FilePath(url.path(percentEncoded: false)).lexicallyNormalized()
        let spellings = [directory, PathFacts.resolved(directory)].map { $0.lexicallyNormalized() }
        for spelling in spellings {
            var relative = item
            guard relative.removePrefix(spelling), let name = relative.components.first?.string, record.peers[name]?.attached == true else {
                continue
            }
            return try await UbiquityContainer(name, home: place)
        }
        return nil
    }
}
